pragma application_id = 1145395249;
pragma user_version = 5;
BEGIN TRANSACTION;
CREATE TABLE attempts (
    call_id    text    not null references calls (call_id),
    number     integer not null,
    reason     text    not null check (reason in ('first', 'replay', 'allowed')),
    token      integer not null,
    seq        integer not null,
    boot_id    text    not null references boots (boot_id),
    started_at integer not null,
    primary key (call_id, number)
) strict;
CREATE TABLE batches (
    one    integer primary key check (one = 1),
    number integer not null
, journal_id text not null default '', generation integer not null default 1, heads integer not null default 0 check (heads in (0, 1)), place integer not null default 0) strict;
INSERT INTO "batches" VALUES(1,12,'boot_01mcc5rm00nm0t13j5zpxpg58b',1,1,11);
CREATE TABLE blobs (
    blob_id integer primary key,
    digest  text    not null unique,
    body    blob    not null
, is_node integer not null default 0 check (is_node in (0, 1))) strict;
INSERT INTO "blobs" VALUES(1,'0d0c4bd27b751c5f5c66c091cbeac4e7dadc8b2f9ee00d7b61bb004ab96c308a',X'7B2274657874223A22706C65617365206D31227D',0);
INSERT INTO "blobs" VALUES(2,'5aa762ae383fbb727af3c7a36d4940a5b8c40a989452d2304fc958ff3f354e7a',X'2268656C6C6F22',1);
INSERT INTO "blobs" VALUES(3,'57114e783e77eab05e8e416298de55174be275212520d722f920891aaa95b637',X'4C005AA762AE383FBB727AF3C7A36D4940A5B8C40A989452D2304FC958FF3F354E7A',1);
INSERT INTO "blobs" VALUES(4,'58f4f5ac1e2f9dc624f78a3154a451a5445a1878fc429d104519941038a4a1f4',X'7B22636F6465223A226769742070757368227D',0);
INSERT INTO "blobs" VALUES(5,'2419e337f87dc72952d253e0885b8f89988a3c518fc03ca841f27d44c975e9bf',X'7B22726573706F6E7365223A22492070757368227D',0);
INSERT INTO "blobs" VALUES(6,'3831b4c1a9fd6af77ae3ae2138f0d3df428fb885efe1e3b54d6cb6ddee2fcdfe',X'7B2274657874223A22616E64207468656E3F227D',0);
INSERT INTO "blobs" VALUES(7,'f2fd852a85e082508057c45f4ce666169ca0dd5a96372e2237b1c7d64d7e3fdf',X'7B2274657874223A22706C65617365206D657373616765206F662066696E6973686564227D',0);
INSERT INTO "blobs" VALUES(8,'55a4e9f5aff0a85f2770bcb4ca1bae728bccb7bc9d248ecdd5feb95ffaf64483',X'2262796522',0);
CREATE TABLE boots (
    boot_id    text    primary key,
    started_at integer not null,
    ended_at   integer,
    facts      blob    not null
) strict;
INSERT INTO "boots" VALUES('boot_01mcc5rm00nm0t13j5zpxpg58b',1800000000000,1800000000000,X'7B22706964223A317D');
INSERT INTO "boots" VALUES('boot_01mcc5tek0ttrj3m76ee9asy96',1800000060000,1800000060000,X'7B22706964223A317D');
CREATE TABLE "calls" (
    call_id          text    not null unique,
    run_id           text    not null references runs (run_id),
    path             text    not null,
    step             integer not null,
    kind             text    not null check (kind in ('model', 'tool', 'utility', 'delivery')),
    ordinal          integer not null,
    name             text    not null,
    identity         text    not null,
    arguments_digest text    not null references blobs (digest),
    extra_digest     text    references blobs (digest),
    lossy            integer not null check (lossy in (0, 1)),
    policy           text,
    source_digest    text,
    attempts         integer not null default 0,
    allowance        integer not null default 0 check (allowance between 0 and 3),
    token            integer not null default 0,
    boot_id          text    not null references boots (boot_id),
    outcome          text    check (outcome in ('ok', 'error', 'unknown', 'interrupted', 'superseded', 'confirmed')),
    value_digest     text    references blobs (digest),
    value_lossy      integer not null default 0 check (value_lossy in (0, 1)),
    result_digest    text,
    result_extra     text    references blobs (digest),
    error            text    not null default '',
    usage            blob,
    started_at       integer not null,
    ended_at         integer,
    seq              integer primary key,
    origin           text    not null default 'ran' check (origin in ('ran', 'decision')),
    served           integer not null default 0,
    abandoned        integer not null default 0 check (abandoned in (0, seq)),
    check ((outcome is null) = (result_digest is null)),
    check ((outcome is null) = (ended_at is null))
) strict;
INSERT INTO "calls" VALUES('call_01mcc5rm00xgrwgtn27f3n7ad0','run_01mcc5rm00xgrwgtn27f3n7acz','A0',1,'model',0,'chat','5489ec9f7659c22a4b8e7305a2249b4ef38b1fd866b16940dde06de88d4120c7','58f4f5ac1e2f9dc624f78a3154a451a5445a1878fc429d104519941038a4a1f4',NULL,0,NULL,NULL,1,0,1,'boot_01mcc5rm00nm0t13j5zpxpg58b','ok','2419e337f87dc72952d253e0885b8f89988a3c518fc03ca841f27d44c975e9bf',0,'23a1df012d0cbf20bb38f954599650d566facac2e765145d1717ce9c7bf85513',NULL,'',NULL,1800000000000,1800000000000,3,'ran',0,0);
INSERT INTO "calls" VALUES('call_01mcc5rm00xgrwgtn27f3n7ad1','run_01mcc5rm00xgrwgtn27f3n7acz','A0',1,'tool',0,'shell','a15b7089cfdabab7f8b8522b9e3fe63154031a78f2a050e516b42ed1187583f8','58f4f5ac1e2f9dc624f78a3154a451a5445a1878fc429d104519941038a4a1f4',NULL,0,NULL,NULL,1,0,1,'boot_01mcc5rm00nm0t13j5zpxpg58b',NULL,NULL,0,NULL,NULL,'',NULL,1800000000000,NULL,5,'ran',0,0);
CREATE TABLE chats (
    chat_id    text    primary key,
    created_at integer not null) strict;
INSERT INTO "chats" VALUES('chat',1800000000000);
INSERT INTO "chats" VALUES('finished',1800000000000);
CREATE TABLE "checkpoints" (
    seq        integer primary key,
    run_id     text    not null,
    root       text    not null,
    body       blob,
    position   blob    not null,
    seal       text    not null,
    created_at integer not null,
    foreign key (run_id, seq) references events (run_id, seq)
) strict;
INSERT INTO "checkpoints" VALUES(2,'run_01mcc5rm00xgrwgtn27f3n7acz','1fe212d70e6c9ec5143f24f757556849d3b3dca21bf836bb1862af44a5c9989b',X'7B22686973746F7279223A2235373131346537383365373765616230356538653431363239386465353531373462653237353231323532306437323266393230383931616161393562363337227D',X'7B224130223A307D','2d42d5d3d2cc6228bef3292964629197049ea1495bf05b795722c828eccea76b',1800000000000);
INSERT INTO "checkpoints" VALUES(8,'run_01mcc5rm00xgrwgtn27f3n7ad2','1fe212d70e6c9ec5143f24f757556849d3b3dca21bf836bb1862af44a5c9989b',X'7B22686973746F7279223A2235373131346537383365373765616230356538653431363239386465353531373462653237353231323532306437323266393230383931616161393562363337227D',X'7B224130223A307D','5650a41d7673de96a3fba2a2e932510fd9a1995879684231514d6c29305c2b23',1800000000000);
INSERT INTO "checkpoints" VALUES(9,'run_01mcc5rm00xgrwgtn27f3n7ad2','1fe212d70e6c9ec5143f24f757556849d3b3dca21bf836bb1862af44a5c9989b',X'7B22686973746F7279223A2235373131346537383365373765616230356538653431363239386465353531373462653237353231323532306437323266393230383931616161393562363337227D',X'7B224130223A307D','5ce58c1e00494d0ea6abcbee515d829d668698964cd28909dcb3ad3911f4be5f',1800000000000);
CREATE TABLE conflicts (
    conflict_id text    primary key,
    document_id text    not null,
    base        integer not null,
    stored      integer not null,
    body_digest text    not null references blobs (digest),
    written_by  text    not null,
    state       text    not null check (state in ('open', 'resolved')),
    seq         integer not null,
    at          integer not null
) strict;
CREATE TABLE decisions (
    request_id   text    primary key,
    run_id       text    not null references runs (run_id),
    call_id      text    references calls (call_id),
    choice       text    not null check (choice in ('resume', 'new_attempt', 'confirmed_completed', 'confirmed_not_completed', 'stop')),
    shown_digest text    not null,
    note         text    not null,
    ack          integer not null check (ack in (0, 1)),
    origin       text    not null,
    request      text    not null,
    hold_since   integer not null,
    version      integer not null,
    seq          integer not null,
    at           integer not null
) strict;
CREATE TABLE documents (
    document_id text    not null,
    revision    integer not null check (revision >= 1),
    chat_id     text    not null references chats (chat_id),
    kind        text    not null,
    body_digest text    not null references blobs (digest),
    written_by  text    not null,
    seq         integer not null,
    at          integer not null,
    primary key (document_id, revision)
) strict;
CREATE TABLE "events" (
    run_id  text    not null references runs (run_id),
    seq     integer not null,
    at      integer not null,
    kind    text    not null,
    call_id text,
    version integer,
    boot_id text    not null references boots (boot_id),
    facts   blob,
    primary key (run_id, seq)
) strict, without rowid;
INSERT INTO "events" VALUES('run_01mcc5rm00xgrwgtn27f3n7acz',1,1800000000000,'run_admitted',NULL,1,'boot_01mcc5rm00nm0t13j5zpxpg58b',NULL);
INSERT INTO "events" VALUES('run_01mcc5rm00xgrwgtn27f3n7acz',2,1800000000000,'checkpoint_saved',NULL,NULL,'boot_01mcc5rm00nm0t13j5zpxpg58b',NULL);
INSERT INTO "events" VALUES('run_01mcc5rm00xgrwgtn27f3n7acz',3,1800000000000,'call_begun','call_01mcc5rm00xgrwgtn27f3n7ad0',NULL,'boot_01mcc5rm00nm0t13j5zpxpg58b',NULL);
INSERT INTO "events" VALUES('run_01mcc5rm00xgrwgtn27f3n7acz',4,1800000000000,'call_finished','call_01mcc5rm00xgrwgtn27f3n7ad0',NULL,'boot_01mcc5rm00nm0t13j5zpxpg58b',X'7B226F7574636F6D65223A226F6B227D');
INSERT INTO "events" VALUES('run_01mcc5rm00xgrwgtn27f3n7acz',5,1800000000000,'call_begun','call_01mcc5rm00xgrwgtn27f3n7ad1',NULL,'boot_01mcc5rm00nm0t13j5zpxpg58b',NULL);
INSERT INTO "events" VALUES('run_01mcc5rm00xgrwgtn27f3n7acz',6,1800000000000,'input_kept',NULL,NULL,'boot_01mcc5rm00nm0t13j5zpxpg58b',X'7B22696E707574223A2278227D');
INSERT INTO "events" VALUES('run_01mcc5rm00xgrwgtn27f3n7acz',11,1800000060000,'run_held','call_01mcc5rm00xgrwgtn27f3n7ad1',2,'boot_01mcc5tek0ttrj3m76ee9asy96',X'7B22726561736F6E223A226F7574636F6D655F756E6B6E6F776E227D');
INSERT INTO "events" VALUES('run_01mcc5rm00xgrwgtn27f3n7ad2',7,1800000000000,'run_admitted',NULL,1,'boot_01mcc5rm00nm0t13j5zpxpg58b',NULL);
INSERT INTO "events" VALUES('run_01mcc5rm00xgrwgtn27f3n7ad2',8,1800000000000,'checkpoint_saved',NULL,NULL,'boot_01mcc5rm00nm0t13j5zpxpg58b',NULL);
INSERT INTO "events" VALUES('run_01mcc5rm00xgrwgtn27f3n7ad2',9,1800000000000,'checkpoint_saved',NULL,NULL,'boot_01mcc5rm00nm0t13j5zpxpg58b',NULL);
INSERT INTO "events" VALUES('run_01mcc5rm00xgrwgtn27f3n7ad2',10,1800000000000,'run_completed',NULL,2,'boot_01mcc5rm00nm0t13j5zpxpg58b',NULL);
CREATE TABLE evidence (
    evidence_id   integer primary key,
    call_id       text    not null references calls (call_id),
    kind          text    not null,
    outcome       text,
    value_digest  text    references blobs (digest),
    result_digest text,
    error         text    not null default '',
    facts         blob,
    seq           integer not null,
    at            integer not null
) strict;
CREATE TABLE generations (
    generation integer primary key check (generation >= 2),
    began_at   integer not null,
    reason     text    not null check (reason in ('rolled_back', 'replaced', 'moved')),
    facts      blob    not null
) strict;
CREATE TABLE grants (
    request_id text    primary key,
    run_id     text    not null references runs (run_id),
    call_id    text    not null references calls (call_id),
    attempts   integer not null check (attempts between 1 and 3),
    origin     text    not null,
    request    text    not null,
    version    integer not null,
    seq        integer not null,
    at         integer not null
) strict;
CREATE TABLE inputs (
    chat_id    text    not null references chats (chat_id),
    input_id   text    not null,
    run_id     text    not null references runs (run_id),
    digest     text    not null references blobs (digest),
    state      text    not null check (state in ('waiting', 'delivered', 'offered', 'discarded')),
    created_at integer not null,
    changed_at integer not null,
    seq        integer not null,
    primary key (chat_id, input_id)
) strict;
INSERT INTO "inputs" VALUES('chat','x','run_01mcc5rm00xgrwgtn27f3n7acz','3831b4c1a9fd6af77ae3ae2138f0d3df428fb885efe1e3b54d6cb6ddee2fcdfe','waiting',1800000000000,1800000000000,6);
CREATE TABLE notices (
    seq     integer primary key,
    at      integer not null,
    kind    text    not null,
    boot_id text    not null references boots (boot_id),
    facts   blob
) strict;
CREATE TABLE openings (
    opening     text    primary key,
    first_batch integer not null
) strict;
INSERT INTO "openings" VALUES('boot_01mcc5rm00nm0t13j5zpxpg58b',1);
INSERT INTO "openings" VALUES('boot_01mcc5tek0ttrj3m76ee9asy96',10);
CREATE TABLE "restore_selections" (
    selection_id   text    primary key,
    run_id         text    not null references runs (run_id),
    checkpoint_seq integer references "checkpoints" (seq),
    request_id     text    not null unique,
    note           text    not null,
    origin         text    not null,
    seq            integer not null,
    at             integer not null
) strict;
CREATE TABLE runs (
    run_id         text    primary key,
    chat_id        text    not null references chats (chat_id),
    parent_call_id text    references calls (call_id),
    input_id       text    not null,
    input_digest   text    not null references blobs (digest),
    title          text    not null,
    state          text    not null check (state in ('queued', 'running', 'held', 'completed', 'failed', 'stopped')),
    version        integer not null check (version >= 1),
    token          integer not null check (token >= 0),
    mode           blob    not null,
    hold_reason    text,
    hold_call_id   text    references calls (call_id),
    hold_text      text    not null default '',
    hold_facts     blob,
    hold_since     integer,
    recoveries     integer not null default 0,
    answer_digest  text    references blobs (digest),
    created_at     integer not null,
    changed_at     integer not null,
    boot_id        text    not null references boots (boot_id),
    checkpoint_seq integer not null default 0,
    check ((state = 'held') = (hold_reason is not null))
) strict;
INSERT INTO "runs" VALUES('run_01mcc5rm00xgrwgtn27f3n7acz','chat',NULL,'m1','0d0c4bd27b751c5f5c66c091cbeac4e7dadc8b2f9ee00d7b61bb004ab96c308a','A title','held',2,1,X'7B226F6E5F72657374617274223A226175746F227D','outcome_unknown','call_01mcc5rm00xgrwgtn27f3n7ad1','',X'7B7D',1800000060000,0,NULL,1800000000000,1800000060000,'boot_01mcc5rm00nm0t13j5zpxpg58b',2);
INSERT INTO "runs" VALUES('run_01mcc5rm00xgrwgtn27f3n7ad2','finished',NULL,'message of finished','f2fd852a85e082508057c45f4ce666169ca0dd5a96372e2237b1c7d64d7e3fdf','A title','completed',2,1,X'7B226F6E5F72657374617274223A226175746F227D',NULL,NULL,'',NULL,NULL,0,'55a4e9f5aff0a85f2770bcb4ca1bae728bccb7bc9d248ecdd5feb95ffaf64483',1800000000000,1800000000000,'boot_01mcc5rm00nm0t13j5zpxpg58b',9);
CREATE TABLE schema_versions (
    version     integer primary key,
    digest      text    not null,
    applied_at  integer not null
) strict;
INSERT INTO "schema_versions" VALUES(1,'1904b33f6c4a4e41355ab04b69197999d9bb2b6fcea4b3a2d7b4d9b356b8fc30',1800000000000);
INSERT INTO "schema_versions" VALUES(2,'79ba002d7bdf71f912d351642199d1df1b0d043e43702949e66da6a3d0103eee',1800000000000);
INSERT INTO "schema_versions" VALUES(3,'e1395346aec14f8a430a778f6187042f256e81931bd310d76b88597ff44a4e03',1800000000000);
INSERT INTO "schema_versions" VALUES(4,'63b154de2af67b989e8164b882a2cf15f3674cd79c4982a9a5dd63a9973d6813',1800000000000);
INSERT INTO "schema_versions" VALUES(5,'2d8f311fcd9fbff8a54171c7075856b5bccc0ac593a5749d48c161584a750d14',1800000000000);
CREATE TABLE tombstones (
    chat_id    text    not null references chats (chat_id),
    input_id   text    not null,
    kind       text    not null check (kind in ('run', 'message')),
    digest     text    not null,
    run_id     text    not null,
    state      text    not null,
    created_at integer not null,
    ended_at   integer not null,
    removed_at integer not null,
    primary key (chat_id, input_id)
) strict;
CREATE UNIQUE INDEX one_unfinished_run_per_chat on runs (chat_id)
    where parent_call_id is null and state in ('queued', 'running', 'held');
CREATE UNIQUE INDEX one_run_per_message on runs (chat_id, input_id) where parent_call_id is null;
CREATE INDEX held_runs on runs (hold_since, run_id) where state = 'held';
CREATE INDEX runs_of_chat on runs (chat_id, run_id);
CREATE INDEX waiting_inputs on inputs (chat_id, seq) where state = 'waiting';
CREATE INDEX inputs_of_run on inputs (run_id, seq);
CREATE INDEX decisions_of_run on decisions (run_id, seq);
CREATE INDEX grants_of_run on grants (run_id, seq);
CREATE UNIQUE INDEX one_evidence_per_result on evidence (call_id, kind, result_digest);
CREATE INDEX children_of_calls on runs (parent_call_id) where parent_call_id is not null;
CREATE INDEX holds_of_calls on runs (hold_call_id) where hold_call_id is not null;
CREATE INDEX decisions_of_call on decisions (call_id) where call_id is not null;
CREATE INDEX grants_of_call on grants (call_id);
CREATE INDEX open_inputs_of_run on inputs (run_id) where state in ('waiting', 'offered');
CREATE INDEX conflicts_of_document on conflicts (document_id) where state = 'open';
CREATE INDEX documents_of_chat on documents (chat_id);
CREATE UNIQUE INDEX one_call_per_key on calls (run_id, path, step, kind, ordinal, abandoned);
CREATE INDEX ends_of_runs on events (seq, boot_id, run_id) where kind in ('run_completed', 'run_failed');
CREATE INDEX claims_of_runs on events (boot_id, run_id) where kind = 'run_claimed';
CREATE INDEX selections_of_run on restore_selections (run_id);
CREATE INDEX selections_of_checkpoint on restore_selections (checkpoint_seq) where checkpoint_seq is not null;
CREATE INDEX children_by_state on runs (state, run_id) where parent_call_id is not null;
COMMIT;
