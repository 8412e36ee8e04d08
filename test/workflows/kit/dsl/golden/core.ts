// Kinds of Kubernetes' core group, as the golden documents bind them.

import type { ObjectMeta } from '../../../../../workflows/kit/index.ts'

export interface Pod {
  readonly apiVersion: 'v1'
  readonly kind: 'Pod'
  readonly metadata: ObjectMeta
}

export interface Node {
  readonly apiVersion: 'v1'
  readonly kind: 'Node'
  readonly metadata: ObjectMeta
}
