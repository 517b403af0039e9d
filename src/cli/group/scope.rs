//! Which partitions a command is about: `--topic NAME[:N,N]`.

use std::str::FromStr;

use crate::types::{PartitionIndex, TopicName};

/// A topic, or some partitions of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicScope {
    /// Name.
    pub(super) topic: String,
    /// Which partitions; `None` for all.
    pub(super) partitions: Option<Vec<PartitionIndex>>,
}

impl FromStr for TopicScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A topic's name has no colon in it.
        let (topic, partitions) = match text.split_once(':') {
            Some((topic, partitions)) => (topic, Some(partitions)),
            None => (text, None),
        };
        let topic = TopicName::new(topic).map_err(|error| error.to_string())?;
        let partitions = partitions.map(indexes).transpose()?;
        Ok(Self { topic: topic.as_str().to_owned(), partitions })
    }
}

fn indexes(text: &str) -> Result<Vec<PartitionIndex>, String> {
    let index = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| digits).map(PartitionIndex::new)
    };
    let indexes: Option<Vec<PartitionIndex>> = text.split(',').map(index).collect();
    let mut indexes =
        indexes.ok_or_else(|| "expected NAME or NAME:PARTITION,PARTITION".to_owned())?;
    indexes.sort();
    indexes.dedup();
    Ok(indexes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partitions(text: &str) -> Option<Vec<i32>> {
        let scope: TopicScope = text.parse().unwrap();
        scope.partitions.map(|indexes| indexes.into_iter().map(PartitionIndex::get).collect())
    }

    #[test]
    fn partitions_are_listed_behind_a_colon() {
        assert_eq!(partitions("a.b-c_d"), None);
        assert_eq!(partitions("t:0"), Some(vec![0]));
        assert_eq!(partitions("t:7,0,7"), Some(vec![0, 7]));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", ":0", "t:", "t:a", "t:0,", "t:-1", "t:+1", "t:0:1", "t t", "t:99999999999"]
        {
            assert!(text.parse::<TopicScope>().is_err(), "{text}");
        }
    }
}
