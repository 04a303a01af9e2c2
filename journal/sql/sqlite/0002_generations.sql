-- How a journal knows itself: which one it is, how far it has come, and in which generation. Frozen.

-- `journal_id` is the id of the first opening that wrote; `heads` says that head files were written and synced.
alter table batches add column journal_id text not null default '';
alter table batches add column generation integer not null default 1;
alter table batches add column heads integer not null default 0 check (heads in (0, 1));

-- Each opening that wrote, and the first batch that it wrote: the line from which a journal descends.
create table openings (
    opening     text    primary key,
    first_batch integer not null
) strict;

-- Generations after the first: begun because the journal was restored, rolled back, replaced or moved.
create table generations (
    generation integer primary key check (generation >= 2),
    began_at   integer not null,
    reason     text    not null check (reason in ('rolled_back', 'replaced', 'moved')),
    facts      blob    not null
) strict;
