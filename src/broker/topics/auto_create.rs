//! Topics that come into being because a client asks for them (`auto.create.topics.enable`).

use super::create::{self, CreateTopicError, CreationRules, TopicSpec};
use super::internal;
use crate::broker::Broker;
use crate::metadata::Image;
use crate::types::TopicName;

/// A topic that could not be made on first use.
#[derive(Debug)]
pub struct NotCreated {
    /// The name that was asked for.
    pub name: String,
    /// Why.
    pub error: CreateTopicError,
}

impl Broker {
    /// True if a client that asks for these topics makes them: some are missing, their names are legal, and the settings
    /// allow it.
    pub fn would_auto_create<'a>(
        &self,
        image: &Image,
        mut names: impl Iterator<Item = &'a str>,
    ) -> bool {
        self.settings.auto_create_topics_enable && names.any(|name| is_missing(image, name))
    }

    /// Makes the missing ones of `names`, with the broker's defaults, in one append to the metadata log. What it returns could
    /// not be made; a topic that somebody else has made meanwhile is no failure. Blocks.
    pub fn auto_create<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<NotCreated> {
        let _changes = self.changes.lock();
        let image = self.metadata.image();
        let mut missing: Vec<&str> = names.filter(|name| is_missing(&image, name)).collect();
        missing.sort_unstable();
        missing.dedup();
        let specs = missing.into_iter().map(|name| self.spec_of(name)).collect();
        let planned = create::plan(&CreationRules::of(&self.settings, &image), specs);
        let outcomes = self.carry_out(planned).into_iter();
        outcomes.filter_map(|(name, result)| not_created(name, result.err()?)).collect()
    }

    /// Makes an internal topic if it is not there yet, whatever the settings say of auto-creation. Blocks.
    pub(in crate::broker) fn create_internal_topic(
        &self,
        name: &'static str,
    ) -> Result<(), CreateTopicError> {
        let failed = self.auto_create(std::iter::once(name)).into_iter().next();
        failed.map_or(Ok(()), |failed| Err(failed.error))
    }

    fn spec_of(&self, name: &str) -> TopicSpec {
        internal::spec(&self.settings, name).unwrap_or_else(|| TopicSpec::with_defaults(name))
    }
}

fn is_missing(image: &Image, name: &str) -> bool {
    image.topic(name).is_none() && TopicName::new(name).is_ok()
}

fn not_created(name: String, error: CreateTopicError) -> Option<NotCreated> {
    match error {
        CreateTopicError::Exists(_) => None,
        error => Some(NotCreated { name, error }),
    }
}
