-- What a call gives and what a chat shows of it is one body. Nothing that was recorded is lost. Frozen.

-- Parts of saved states lie among the other bodies, so that the same content is stored once. The mark is raised and never
-- lowered: what was such a part goes only where no state leads to it. Where the two copies differ one was damaged.
alter table blobs add column is_node integer not null default 0 check (is_node in (0, 1));
insert into blobs (digest, body, is_node)
select digest, body, 1
  from nodes
 where true
 order by node_id
    on conflict (digest) do update
   set is_node = 1,
       body    = case when body is not excluded.body and sha256(excluded.body) = digest then excluded.body else body end;
drop table nodes;
