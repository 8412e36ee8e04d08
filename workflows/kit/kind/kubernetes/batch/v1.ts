// The kinds of batch/v1, for `bind batch/v1 pawl/kit/batch/v1`. Types only.

import type { V1CronJob, V1Job } from '@kubernetes/client-node'

import type { StoredObject } from '../../stored-object.ts'

export type CronJob = StoredObject<V1CronJob, 'batch/v1', 'CronJob'>
export type Job = StoredObject<V1Job, 'batch/v1', 'Job'>
