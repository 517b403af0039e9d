//! Where entries go: lines of text or of JSON, and the count of what is wrong.

use std::io::{self, Write};

use super::DumpArguments;
use super::entry::Entry;
use super::paths::Found;
use crate::cli::CommandError;

/// So many problems of one file are listed; the others are counted.
const LISTED_MAX: u64 = 20;

/// The answer of the command while it is written.
pub(super) struct Output<'a> {
    out: &'a mut dyn Write,
    json: bool,
    only_problems: bool,
    file: String,
    head: Option<Entry>,
    problems: u64,
    problems_of_file: u64,
}

impl<'a> Output<'a> {
    pub fn new(out: &'a mut dyn Write, arguments: &DumpArguments) -> Self {
        let (json, only_problems) = (arguments.json, arguments.verify);
        Self {
            out,
            json,
            only_problems,
            file: String::new(),
            head: None,
            problems: 0,
            problems_of_file: 0,
        }
    }

    /// What follows is of this file. Its own line comes with the first entry, or at its end.
    pub fn begin(&mut self, found: &Found) {
        self.file = found.path.display().to_string();
        self.head = None;
        self.problems_of_file = 0;
    }

    /// Nothing more follows of the file.
    pub fn end(&mut self) -> io::Result<()> {
        match self.problems_of_file.checked_sub(LISTED_MAX) {
            None | Some(0) => Ok(()),
            Some(more) => self.write(
                &Entry::new("problem")
                    .with("text", format!("and {more} more problems in this file")),
            ),
        }
    }

    /// The line about the file itself; before everything else that is said of it.
    pub fn head(&mut self, head: Entry) -> io::Result<()> {
        if self.only_problems {
            self.head = Some(head);
            return Ok(());
        }
        self.write_head(&head)
    }

    fn write_head(&mut self, head: &Entry) -> io::Result<()> {
        if self.json {
            writeln!(self.out, "{}", head.json(&self.file))
        } else {
            writeln!(
                self.out,
                "{}:{}",
                self.file,
                head.text().trim_start_matches(' ').trim_start_matches(head.kind)
            )
        }
    }

    pub fn entry(&mut self, entry: &Entry) -> io::Result<()> {
        if self.only_problems {
            return Ok(());
        }
        self.write(entry)
    }

    /// Something worth to know that is not wrong.
    pub fn note(&mut self, text: &str) -> io::Result<()> {
        self.entry(&Entry::new("note").with("text", text))
    }

    /// Something is not as it was once written.
    pub fn problem(&mut self, position: Option<u64>, text: &str) -> io::Result<()> {
        self.problems += 1;
        self.problems_of_file += 1;
        if self.problems_of_file > LISTED_MAX {
            return Ok(());
        }
        if let Some(head) = self.head.take() {
            self.write_head(&head)?;
        }
        let entry = Entry::new("problem");
        let entry = match position {
            Some(position) => entry.with("position", position),
            None => entry,
        };
        self.write(&entry.with("text", text))
    }

    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let line = if self.json { entry.json(&self.file) } else { entry.text() };
        writeln!(self.out, "{line}")
    }

    /// An error if anything is wrong, so that the exit code says so.
    pub fn finish(self, files: usize) -> Result<(), CommandError> {
        match self.problems {
            0 => Ok(()),
            1 => Err(CommandError::Failed(format!("1 problem in {files} files"))),
            problems => Err(CommandError::Failed(format!("{problems} problems in {files} files"))),
        }
    }
}
