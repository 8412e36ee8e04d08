// Kinds of Kubernetes' group batch, as the golden documents bind them.

import type { ObjectMeta } from '../../../../../workflows/kit/index.ts'

export interface Job {
  readonly apiVersion: 'batch/v1'
  readonly kind: 'Job'
  readonly metadata: ObjectMeta
}
