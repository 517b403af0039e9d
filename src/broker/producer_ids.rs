//! Producer ids, handed out from memory out of blocks that the metadata journal grants (Kafka's `RPCProducerIdManager`).
//!
//! Ids left of a block are lost at a restart, so an id is never given twice.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::Broker;
use super::step::{Step, off_thread};
use crate::coordinator::transactions::ProducerIdSource;
use crate::env;
use crate::metadata::{MetadataError, MetadataStore, ProducerIdBlock};
use crate::types::ProducerId;

/// The block in use.
#[derive(Debug)]
pub struct ProducerIds {
    block: Mutex<Option<ProducerIdBlock>>,
    store: Arc<MetadataStore>,
    this: Weak<Self>,
}

impl ProducerIdSource for ProducerIds {
    fn try_next(&self) -> Option<ProducerId> {
        let id = self.take();
        if id.is_none()
            && let Some(this) = self.this.upgrade()
        {
            // Detached: whoever asks again finds the new block, or has it tried again.
            drop(env::spawn_blocking(move || {
                if let Err(error) = this.refill() {
                    tracing::error!(%error, "no producer ids can be allocated");
                }
            }));
        }
        id
    }
}

impl ProducerIds {
    /// Without a block until the first id is asked for.
    pub(super) fn new(store: Arc<MetadataStore>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self { block: Mutex::default(), store, this: Weak::clone(this) })
    }

    /// The next id of the block, if one is left and nobody is taking a new block. Never blocks.
    fn take(&self) -> Option<ProducerId> {
        take_first(&mut *self.block.try_lock()?)
    }

    /// True if an id is left and nobody is taking a new block. Never blocks.
    fn is_at_hand(&self) -> bool {
        let block = self.block.try_lock();
        block.is_some_and(|block| block.as_ref().is_some_and(|block| block.count > 0))
    }

    /// Takes a new block unless something of the last one is left. Blocks on the metadata journal.
    fn refill(&self) -> Result<(), MetadataError> {
        let mut block = self.block.lock();
        if block.as_ref().is_none_or(|block| block.count == 0) {
            *block = Some(self.store.allocate_producer_ids()?);
        }
        Ok(())
    }

    /// The next id; takes a new block if none is left. Blocks on the metadata journal.
    fn next(&self) -> Result<ProducerId, MetadataError> {
        // Held while the block is written, so that a crowd of producers takes one block and not one each.
        let mut block = self.block.lock();
        if let Some(id) = take_first(&mut block) {
            return Ok(id);
        }
        let fresh = self.store.allocate_producer_ids()?;
        *block = Some(ProducerIdBlock {
            first: ProducerId::new(fresh.first.get() + 1),
            count: fresh.count - 1,
        });
        Ok(fresh.first)
    }
}

fn take_first(block: &mut Option<ProducerIdBlock>) -> Option<ProducerId> {
    let left = block.as_mut().filter(|block| block.count > 0)?;
    let id = left.first;
    left.first = ProducerId::new(id.get() + 1);
    left.count -= 1;
    Some(id)
}

impl Broker {
    /// Makes sure that an id is at hand for a coordinator, which cannot wait for one.
    pub fn ensure_producer_ids(self: &Arc<Self>) -> Step<Result<(), MetadataError>> {
        if self.producer_ids.is_at_hand() {
            return Step::Now(Ok(()));
        }
        let ids = Arc::clone(&self.producer_ids);
        Step::later(off_thread(move || ids.refill()))
    }

    /// A producer id that nobody had before.
    pub fn next_producer_id(self: &Arc<Self>) -> Step<Result<ProducerId, MetadataError>> {
        if let Some(id) = self.producer_ids.take() {
            return Step::Now(Ok(id));
        }
        let ids = Arc::clone(&self.producer_ids);
        Step::later(off_thread(move || ids.next()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_block_come_once_each() {
        let mut block = Some(ProducerIdBlock { first: ProducerId::new(7), count: 2 });
        assert_eq!(take_first(&mut block), Some(ProducerId::new(7)));
        assert_eq!(take_first(&mut block), Some(ProducerId::new(8)));
        assert_eq!(take_first(&mut block), None);
    }
}
