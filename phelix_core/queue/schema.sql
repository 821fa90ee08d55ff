CREATE TABLE workspaces (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE projects (
  id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL REFERENCES workspaces(id), key TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL, domain TEXT NOT NULL, status TEXT NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE campaigns (
  id TEXT PRIMARY KEY, project_id TEXT NOT NULL REFERENCES projects(id), name TEXT NOT NULL,
  objective TEXT NOT NULL, status TEXT NOT NULL CHECK (status IN ('active','drained','archived')),
  scope TEXT NOT NULL CHECK (json_valid(scope)), policy TEXT NOT NULL CHECK (json_valid(policy)),
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  UNIQUE (project_id, name)
) STRICT;

CREATE TABLE milestones (
  id TEXT PRIMARY KEY, project_id TEXT NOT NULL REFERENCES projects(id), campaign_id TEXT REFERENCES campaigns(id),
  key TEXT NOT NULL, description TEXT NOT NULL, position INTEGER NOT NULL, deadline_at INTEGER,
  recipients TEXT NOT NULL, approvals TEXT NOT NULL, external_refs TEXT NOT NULL, created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX milestones_by_project ON milestones (project_id, campaign_id, created_at, position);

CREATE TABLE issues (
  id TEXT PRIMARY KEY, project_id TEXT NOT NULL REFERENCES projects(id), campaign_id TEXT REFERENCES campaigns(id),
  milestone_id TEXT REFERENCES milestones(id), position INTEGER NOT NULL, task TEXT NOT NULL,
  priority TEXT NOT NULL CHECK (priority IN ('critical','high','medium','low')),
  size TEXT NOT NULL CHECK (size IN ('S','M','L','XL')),
  status TEXT NOT NULL CHECK (status IN ('pending','ready','in_progress','blocked','needs_recovery','done','failed')),
  rank INTEGER NOT NULL CHECK (rank BETWEEN 0 AND 3), rank_due_at INTEGER,
  promotable INTEGER NOT NULL CHECK (promotable IN (0, 1)), deadline_at INTEGER,
  route TEXT NOT NULL, policy TEXT NOT NULL, max_recoveries INTEGER NOT NULL,
  recipients TEXT NOT NULL, approvals TEXT NOT NULL, external_refs TEXT NOT NULL,
  next_best_action TEXT, blocked_reason TEXT,
  lease_epoch INTEGER NOT NULL, recoveries INTEGER NOT NULL, ready_at INTEGER,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
) STRICT;
-- Partial indexes, one a question: a full one on status misleads the planner once it has statistics.
CREATE INDEX issues_ready ON issues
  (project_id, campaign_id, route, rank, ifnull(deadline_at, 9223372036854775807), created_at, position, id)
  WHERE status = 'ready';
CREATE INDEX issues_promotable ON issues (project_id, campaign_id) WHERE promotable = 1;
CREATE INDEX issues_rank_due ON issues (project_id, rank_due_at)
  WHERE status = 'ready' AND rank_due_at IS NOT NULL;
CREATE INDEX issues_in_progress ON issues (project_id, campaign_id) WHERE status = 'in_progress';
CREATE INDEX issues_needs_recovery ON issues (project_id, campaign_id) WHERE status = 'needs_recovery';
CREATE INDEX issues_blocked ON issues (project_id, campaign_id) WHERE status = 'blocked';
CREATE INDEX issues_failed ON issues (project_id, campaign_id) WHERE status = 'failed';
CREATE INDEX issues_not_done ON issues (milestone_id, status) WHERE status <> 'done';
CREATE INDEX issues_by_milestone ON issues (milestone_id, status, position);
CREATE INDEX issues_pending ON issues (project_id, campaign_id) WHERE status = 'pending';
CREATE INDEX issues_by_campaign ON issues (project_id, campaign_id, created_at, position, id);

CREATE TABLE issue_dependencies (
  issue_id TEXT NOT NULL REFERENCES issues(id), depends_on TEXT NOT NULL REFERENCES issues(id),
  PRIMARY KEY (issue_id, depends_on)
) STRICT, WITHOUT ROWID;
CREATE INDEX issue_dependents ON issue_dependencies (depends_on);

CREATE TABLE milestone_dependencies (
  milestone_id TEXT NOT NULL REFERENCES milestones(id), depends_on TEXT NOT NULL REFERENCES milestones(id),
  PRIMARY KEY (milestone_id, depends_on)
) STRICT, WITHOUT ROWID;
CREATE INDEX milestone_dependents ON milestone_dependencies (depends_on);

CREATE TABLE leases (
  id TEXT PRIMARY KEY, project_id TEXT NOT NULL REFERENCES projects(id), campaign_id TEXT REFERENCES campaigns(id),
  issue_id TEXT NOT NULL REFERENCES issues(id), run_id TEXT NOT NULL, session_id TEXT,
  agent_id TEXT NOT NULL, host TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('active','released','needs_recovery','recovered')),
  epoch INTEGER NOT NULL, ttl_ms INTEGER NOT NULL, freshness_ms INTEGER NOT NULL, boot TEXT NOT NULL,
  acquired_at INTEGER NOT NULL, renewed_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, deadline_mono INTEGER,
  checkpoint_at INTEGER, checkpoint_mono INTEGER, last_heartbeat_at INTEGER, released_at INTEGER, end_reason TEXT,
  holder_pid INTEGER, holder_started INTEGER
) STRICT;
CREATE UNIQUE INDEX leases_active ON leases (issue_id) WHERE status = 'active';
CREATE INDEX leases_active_in ON leases (project_id, campaign_id, agent_id) WHERE status = 'active';
CREATE INDEX leases_by_issue ON leases (issue_id, epoch);

CREATE TABLE runs (
  id TEXT PRIMARY KEY, project_id TEXT NOT NULL REFERENCES projects(id), campaign_id TEXT REFERENCES campaigns(id),
  issue_id TEXT, lease_id TEXT, session_type TEXT NOT NULL, host TEXT NOT NULL, agent_id TEXT NOT NULL,
  status TEXT NOT NULL, via TEXT NOT NULL, started_at INTEGER NOT NULL, finished_at INTEGER,
  notes TEXT NOT NULL, begin_input TEXT NOT NULL
) STRICT;
CREATE INDEX runs_by_project ON runs (project_id, started_at);
CREATE INDEX runs_by_lease ON runs (lease_id) WHERE lease_id IS NOT NULL;

CREATE TABLE checkpoints (
  id TEXT PRIMARY KEY, seq INTEGER NOT NULL, run_id TEXT NOT NULL REFERENCES runs(id),
  issue_id TEXT NOT NULL REFERENCES issues(id), lease_id TEXT, title TEXT NOT NULL, summary TEXT NOT NULL,
  task_status TEXT NOT NULL, next_step TEXT NOT NULL, artifact_ids TEXT NOT NULL, created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX checkpoints_by_issue ON checkpoints (issue_id, seq);

CREATE TABLE artifacts (
  id TEXT PRIMARY KEY, project_id TEXT NOT NULL REFERENCES projects(id), campaign_id TEXT REFERENCES campaigns(id),
  issue_id TEXT REFERENCES issues(id), run_id TEXT, kind TEXT NOT NULL, path TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('active','released')), metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL, released_at INTEGER
) STRICT;
CREATE INDEX artifacts_by_issue ON artifacts (issue_id, created_at);
CREATE INDEX artifacts_by_run ON artifacts (run_id) WHERE status = 'active';

CREATE TABLE requests (
  project_id TEXT NOT NULL, request_id TEXT NOT NULL, verb TEXT NOT NULL, input TEXT NOT NULL,
  answer TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (project_id, request_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL, kind TEXT NOT NULL, project_id TEXT, campaign_id TEXT, issue_id TEXT,
  run_id TEXT, via TEXT NOT NULL, at INTEGER NOT NULL, payload TEXT NOT NULL, changes TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_issue ON events (issue_id, seq) WHERE issue_id IS NOT NULL;
CREATE INDEX events_by_project ON events (project_id, seq);
