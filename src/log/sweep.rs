//! What a crash may leave behind in a partition's directory: files to be deleted, and replacements of segments that were
//! not finished (Kafka's `LogLoader`).

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::batch_start::StartScan;
use super::segment::{FileKind, Suffix, file_name};
use crate::env::{FileSystem, OpenMode};
use crate::types::Offset;

const CLEANED_SUFFIX: &str = Suffix::Cleaned.text();
const SWAP_SUFFIX: &str = Suffix::Swap.text();
const DELETED_SUFFIX: &str = Suffix::Deleted.text();

/// Removes `.deleted` and `.cleaned` files and finishes replacements; the names that are left.
///
/// A `.cleaned` file means that a replacement had not come to the end of its renames: the `.swap` files from its base on are
/// part of it and go too. Every other `.swap` is a finished replacement: the segments in its range are deleted and it takes
/// their place. A crash in here leaves what the next sweep brings to the same end.
pub(super) fn finish_replacements(
    files: &dyn FileSystem,
    directory: &Path,
    mut names: BTreeSet<String>,
) -> io::Result<BTreeSet<String>> {
    if !names.iter().any(|name| has_any_suffix(name)) {
        return Ok(names);
    }
    let cleaned_from =
        names.iter().filter(|name| name.ends_with(CLEANED_SUFFIX)).filter_map(base_of);
    if let Some(from) = cleaned_from.min() {
        // Before the `.cleaned` files, which alone tell that these are not finished.
        let is_unfinished = |name: &String| {
            name.ends_with(SWAP_SUFFIX) && base_of(name).is_some_and(|base| base >= from)
        };
        remove(files, directory, &mut names, is_unfinished)?;
    }
    let goes = |name: &String| name.ends_with(DELETED_SUFFIX) || name.ends_with(CLEANED_SUFFIX);
    remove(files, directory, &mut names, goes)?;
    take_places(files, directory, &mut names)?;
    files.sync_dir(directory)?;
    Ok(names)
}

/// Finished replacements take the places of the segments in their range.
fn take_places(
    files: &dyn FileSystem,
    directory: &Path,
    names: &mut BTreeSet<String>,
) -> io::Result<()> {
    if let Some(range) = swap_range(files, directory, names)? {
        let replaced = |name: &String| {
            let segment_file = !name.ends_with(SWAP_SUFFIX) && is_segment_file(name);
            segment_file && base_of(name).is_some_and(|base| range.covers(base))
        };
        remove(files, directory, names, replaced)?;
    }
    let swaps: Vec<String> = names.iter().filter(|n| n.ends_with(SWAP_SUFFIX)).cloned().collect();
    for swap in swaps {
        let name = swap.trim_end_matches(SWAP_SUFFIX).to_owned();
        files.rename(&directory.join(&swap), &directory.join(&name))?;
        names.remove(&swap);
        names.insert(name);
    }
    Ok(())
}

fn has_any_suffix(name: &str) -> bool {
    [DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX].iter().any(|suffix| name.ends_with(suffix))
}

/// True for the files that go with a replaced segment; its producer snapshot stays.
fn is_segment_file(name: &str) -> bool {
    FileKind::OF_A_SEGMENT.iter().any(|kind| name.ends_with(&format!(".{}", kind.extension())))
}

/// What finished replacements cover: the offsets from the smallest base to the largest end, and the places of those that
/// have no batch left.
struct SwapRange {
    from: Offset,
    to: Offset,
    bases: BTreeSet<Offset>,
}

impl SwapRange {
    fn covers(&self, base: Offset) -> bool {
        (base >= self.from && base < self.to) || self.bases.contains(&base)
    }
}

fn swap_range(
    files: &dyn FileSystem,
    directory: &Path,
    names: &BTreeSet<String>,
) -> io::Result<Option<SwapRange>> {
    let suffix = format!(".{}{SWAP_SUFFIX}", FileKind::Log.extension());
    let mut bases = BTreeSet::new();
    let mut to = Offset::ZERO;
    for name in names.iter().filter(|name| name.ends_with(&suffix)) {
        let Some(base) = base_of(name) else { continue };
        to = to.max(end_of(files, &directory.join(name), base)?);
        bases.insert(base);
    }
    Ok(bases.first().copied().map(|from| SwapRange { from, to, bases }))
}

/// The offset behind the last whole batch of a file.
fn end_of(files: &dyn FileSystem, path: &Path, base: Offset) -> io::Result<Offset> {
    let file = files.open(path, OpenMode::ReadOnly)?;
    let mut scan = StartScan::new(Arc::clone(&file), 0, file.len()?);
    let mut end = base;
    while let Some(start) = scan.next()? {
        end = start.last_offset.plus(1);
    }
    Ok(end)
}

fn remove(
    files: &dyn FileSystem,
    directory: &Path,
    names: &mut BTreeSet<String>,
    goes: impl Fn(&String) -> bool,
) -> io::Result<()> {
    let gone: Vec<String> = names.iter().filter(|name| goes(name)).cloned().collect();
    for name in gone {
        files.remove_file(&directory.join(&name))?;
        names.remove(&name);
    }
    Ok(())
}

/// The offset that a segment file's name begins with.
pub(super) fn base_of(name: &String) -> Option<Offset> {
    let digits = name.get(..20)?;
    let named =
        digits.bytes().all(|b| b.is_ascii_digit()) && name.as_bytes().get(20) == Some(&b'.');
    let base = digits.parse().ok().filter(|_| named).map(Offset::new)?;
    debug_assert!(name.starts_with(&file_name(base, FileKind::Log)[..20]));
    Some(base)
}
