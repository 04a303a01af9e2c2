-- Typed documents: their revisions, and the versions that came too late.

-- document_head --
-- The newest revision, without its body.
select document_id, revision, chat_id, kind, body_digest, written_by, seq, at
  from documents
 where document_id = :document_id
 order by revision desc
 limit 1

-- document --
-- One revision with its body.
select d.document_id, d.revision, d.chat_id, d.kind, d.body_digest, d.written_by, d.seq, d.at, b.body
  from documents d
  left join blobs b on b.digest = d.body_digest
 where d.document_id = :document_id and d.revision = :revision

-- add_revision --
insert into documents (document_id, revision, chat_id, kind, body_digest, written_by, seq, at)
values (:document_id, :revision, :chat_id, :kind, :body_digest, :written_by, :seq, :now)

-- drop_old_revisions --
-- All but the newest, and but what an open conflict began with or met.
delete from documents
 where document_id = :document_id and revision <= :revision - :keep
   and revision not in (select base from conflicts where document_id = :document_id and state = 'open')
   and revision not in (select stored from conflicts where document_id = :document_id and state = 'open')

-- add_conflict --
insert into conflicts (conflict_id, document_id, base, stored, body_digest, written_by, state, seq, at)
values (:conflict_id, :document_id, :base, :stored, :body_digest, :written_by, 'open', :seq, :now)

-- same_conflict --
-- The same version, from the same revision, by the same hand: it waits already.
select conflict_id
  from conflicts
 where document_id = :document_id and base = :base and body_digest = :body_digest and written_by = :written_by and state = 'open'

-- conflict --
select c.conflict_id, c.document_id, c.base, c.stored, c.body_digest, c.written_by, c.state, c.seq, c.at, b.body
  from conflicts c
  left join blobs b on b.digest = c.body_digest
 where c.conflict_id = :conflict_id

-- open_conflicts --
-- Of one document, the oldest first.
select c.conflict_id, c.document_id, c.base, c.stored, c.body_digest, c.written_by, c.state, c.seq, c.at, b.body
  from conflicts c
  left join blobs b on b.digest = c.body_digest
 where c.document_id = :document_id and c.state = 'open'
 order by c.seq
 limit :most

-- count_open_conflicts --
select count(*) as waiting
  from conflicts
 where document_id = :document_id and state = 'open'

-- settle_conflict --
update conflicts
   set state = 'resolved'
 where conflict_id = :conflict_id and state = 'open'

-- drop_settled_conflicts --
-- All but the last that were settled.
delete from conflicts
 where document_id = :document_id and state = 'resolved'
   and conflict_id not in (select conflict_id from conflicts
                            where document_id = :document_id and state = 'resolved' order by seq desc limit :keep)

-- list_documents --
-- The newest revision of each, those in conflict first, then the last changed.
select *
  from (select d.document_id, d.revision, d.chat_id, d.kind, d.body_digest, d.written_by, d.seq, d.at, b.body,
               (select r.title from runs r where r.chat_id = d.chat_id order by r.run_id desc limit 1) as chat_title,
               (select count(*) from conflicts c where c.document_id = d.document_id and c.state = 'open') as waiting
          from documents d
          left join blobs b on b.digest = d.body_digest
         where d.revision = (select max(n.revision) from documents n where n.document_id = d.document_id))
 where (waiting > 0, seq) < (:in_conflict, :seq)
 order by waiting > 0 desc, seq desc
 limit :most

-- document_marks --
-- The newest revision of each document, or of those of one chat, and how many versions wait beside it.
select d.chat_id, d.kind, max(d.revision) as revision,
       (select count(*) from conflicts c where c.document_id = d.document_id and c.state = 'open') as conflicts
  from documents d
 where :chat_id is null or d.chat_id = :chat_id
 group by d.document_id

-- count_documents --
select (select count(distinct document_id) from documents)                     as documents,
       (select count(distinct document_id) from conflicts where state = 'open') as in_conflict,
       (select count(*) from conflicts where state = 'open')                    as conflicts
