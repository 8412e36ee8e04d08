// An open job of a task, for tests of the journal.

import type { NewJob } from '../../../activities/journal/write/jobs.ts'
import { NOW } from './build-events.ts'

export const job = (overrides: Partial<NewJob> = {}): NewJob => ({
  workflow_id: 'task/u1/j1',
  run_id: 'r1',
  controller: 'task',
  cluster: 'c',
  uid: 'u1',
  job_id: 'j1',
  namespace: 'ns',
  name: 'n',
  cause: 'test',
  started_at: NOW,
  ...overrides,
})
