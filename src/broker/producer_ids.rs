//! Producer ids, handed out from memory out of blocks that the metadata journal grants (Kafka's `RPCProducerIdManager`).
//!
//! Ids left of a block are lost at a restart, so an id is never given twice.

use std::sync::Arc;

use parking_lot::Mutex;

use super::Broker;
use super::step::{Step, off_thread};
use crate::metadata::{MetadataError, MetadataStore, ProducerIdBlock};
use crate::types::ProducerId;

/// The block in use.
#[derive(Debug, Default)]
pub struct ProducerIds {
    block: Mutex<Option<ProducerIdBlock>>,
}

impl ProducerIds {
    /// The next id of the block, if one is left and nobody is taking a new block. Never blocks.
    pub fn try_next(&self) -> Option<ProducerId> {
        take_first(&mut *self.block.try_lock()?)
    }

    /// The next id; takes a new block if none is left. Blocks on the metadata journal.
    fn next(&self, store: &MetadataStore) -> Result<ProducerId, MetadataError> {
        // Held while the block is written, so that a crowd of producers takes one block and not one each.
        let mut block = self.block.lock();
        if let Some(id) = take_first(&mut block) {
            return Ok(id);
        }
        let fresh = store.allocate_producer_ids()?;
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
    /// A producer id that nobody had before.
    pub fn next_producer_id(self: &Arc<Self>) -> Step<Result<ProducerId, MetadataError>> {
        if let Some(id) = self.producer_ids.try_next() {
            return Step::Now(Ok(id));
        }
        let broker = Arc::clone(self);
        Step::later(off_thread(move || broker.producer_ids.next(&broker.metadata)))
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
