//! The table of APIs as a page for people, `docs/apis.md`.

use super::api_table::{APIS, Access, Api, Throttle};

/// The table as `docs/apis.md` shows it.
pub fn markdown() -> String {
    let mut page = String::from(PAGE_HEAD);
    for api in APIS {
        page.push_str(&row(api));
    }
    page
}

const PAGE_HEAD: &str = "\
# APIs

Generated from `src/kafka/api_table.rs`; `HIGHWATER_WRITE_DOCS=1 cargo test --lib kafka::api_table` writes it anew.
What is not listed is not advertised, and a connection that asks for it is closed, as Kafka does.

| key | API | versions served | advertised | flexible from | before authentication | quota |
|---|---|---|---|---|---|---|
";

fn row(api: &Api) -> String {
    let (first, last) = (api.versions.start(), api.versions.end());
    let access = match api.access {
        Access::Anyone => "yes",
        Access::Authenticated => "no",
    };
    format!(
        "| {} | {} | {first}-{last} | {}-{last} | {} | {access} | {} |\n",
        api.key,
        api.name,
        api.advertised_from,
        api.flexible_from,
        quota(api.throttle),
    )
}

fn quota(throttle: Throttle) -> &'static str {
    match throttle {
        Throttle::Produce => "producer bytes",
        Throttle::Fetch => "consumer bytes",
        Throttle::Request => "request time",
        Throttle::Mutation => "controller mutations",
    }
}
