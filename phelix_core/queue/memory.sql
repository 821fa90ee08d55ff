CREATE TABLE memory_outbox (
  id TEXT PRIMARY KEY, project_id TEXT NOT NULL REFERENCES projects(id), campaign_id TEXT REFERENCES campaigns(id),
  issue_id TEXT NOT NULL REFERENCES issues(id), run_id TEXT NOT NULL REFERENCES runs(id),
  checkpoint_id TEXT NOT NULL REFERENCES checkpoints(id), memory_kind TEXT NOT NULL, content TEXT NOT NULL,
  metadata TEXT NOT NULL CHECK (json_valid(metadata)),
  status TEXT NOT NULL CHECK (status IN ('queued','delivered')), attempts INTEGER NOT NULL,
  last_reason TEXT, created_at INTEGER NOT NULL, delivered_at INTEGER
) STRICT;
CREATE INDEX memory_outbox_queued ON memory_outbox (attempts, created_at, id) WHERE status = 'queued';

CREATE TABLE memory_links (
  id TEXT PRIMARY KEY, project_id TEXT NOT NULL REFERENCES projects(id), campaign_id TEXT REFERENCES campaigns(id),
  issue_id TEXT REFERENCES issues(id), run_id TEXT, checkpoint_id TEXT,
  memory_kind TEXT NOT NULL, memory_ref TEXT NOT NULL, summary TEXT NOT NULL, created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX memory_links_by_issue ON memory_links (issue_id, created_at);
