//! Producer state while a log is opened: from a snapshot and the batches behind it.

use std::io;
use std::sync::Arc;

use super::access::Access;
use super::active::ActiveSegment;
use super::marker::read_marker;
use super::producers::Producers;
use super::recovery::Recovery;
use super::segment::{FileKind, Segment};
use crate::types::Offset;

impl Recovery<'_> {
    /// The state where a segment begins.
    pub(super) fn producers_at_base(
        &mut self,
        base: Offset,
        before: &[Arc<Segment>],
    ) -> io::Result<Producers> {
        if let Some((at, producers)) = self.carried.take_if(|(at, _)| *at == base) {
            debug_assert_eq!(at, base);
            return Ok(producers);
        }
        self.load_producers(
            base,
            before.iter().map(|segment| (segment.as_ref(), segment.sealed_len)),
        )
    }

    /// The state at the end of the log.
    pub(super) fn producers_at(
        &mut self,
        log_end: Offset,
        sealed: &[Arc<Segment>],
        active: &ActiveSegment,
    ) -> io::Result<Producers> {
        if let Some((_, producers)) = self.carried.take_if(|(at, _)| *at == log_end) {
            return Ok(producers);
        }
        let sealed = sealed.iter().map(|segment| (segment.as_ref(), segment.sealed_len));
        self.load_producers(log_end, sealed.chain([(active.segment.as_ref(), active.position)]))
    }

    /// The newest good snapshot at or below `at`, and from there on the batches in `segments`.
    fn load_producers<'s>(
        &mut self,
        at: Offset,
        segments: impl Iterator<Item = (&'s Segment, u64)>,
    ) -> io::Result<Producers> {
        let now = self.env.clock.wall();
        let (mut from, mut producers) =
            self.snapshots.load(at, now, self.args.producer_id_expiration_ms)?;
        for (segment, len) in segments {
            from = replay(segment, len, from, at, &mut producers)?.max(from);
        }
        producers.expire(now, self.args.producer_id_expiration_ms);
        Ok(producers)
    }
}

/// Applies the batches of a segment within `from..to`; the offset behind the last one.
fn replay(
    segment: &Segment,
    len: u64,
    from: Offset,
    to: Offset,
    producers: &mut Producers,
) -> io::Result<Offset> {
    let mut end = from;
    if len == 0 || from >= to {
        return Ok(end);
    }
    let log = segment.files.open(FileKind::Log)?;
    let mut scan = segment.scan_from(from, len, Access::Blocking)?;
    while let Some(start) = scan.next()?.filter(|start| start.base_offset < to) {
        let Some(header) = start.header.filter(|_| start.last_offset >= from) else { continue };
        let mut batch = Vec::new();
        if header.is_control() {
            batch.resize(start.size as usize, 0);
            log.read_at(&mut batch, start.position)?;
        }
        producers.apply(&header, read_marker(&header, &batch));
        end = start.last_offset.plus(1);
    }
    Ok(end)
}
