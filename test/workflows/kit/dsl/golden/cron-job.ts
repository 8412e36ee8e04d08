// The target of the golden documents.

import type { ObjectMeta } from '../../../../../workflows/kit/index.ts'

export interface CronJob {
  readonly metadata: ObjectMeta
  readonly spec: { readonly node: string; readonly suspend?: boolean }
}
