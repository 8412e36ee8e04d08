// The kinds of autoscaling/v2, for `bind autoscaling/v2 pawl/kit/autoscaling/v2`. Types only.

import type { V2HorizontalPodAutoscaler } from '@kubernetes/client-node'

import type { StoredObject } from '../../stored-object.ts'

export type HorizontalPodAutoscaler = StoredObject<
  V2HorizontalPodAutoscaler,
  'autoscaling/v2',
  'HorizontalPodAutoscaler'
>
