//! The page of settings.

use crate::config::settings_page;

#[test]
#[expect(clippy::disallowed_methods, reason = "the page is a file of the repository")]
fn the_page_of_settings_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/configs.md");
    if std::env::var_os("HIGHWATER_WRITE_DOCS").is_some() {
        std::fs::write(path, settings_page()).expect("docs/configs.md can be written");
    }
    let page = std::fs::read_to_string(path).expect("docs/configs.md");
    assert!(
        page == settings_page(),
        "docs/configs.md is not what the table gives: run with HIGHWATER_WRITE_DOCS=1"
    );
}
