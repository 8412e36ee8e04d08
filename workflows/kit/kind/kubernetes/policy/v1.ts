// The kinds of policy/v1, for `bind policy/v1 pawl/kit/policy/v1`. Types only.

import type { V1PodDisruptionBudget } from '@kubernetes/client-node'

import type { StoredObject } from '../../stored-object.ts'

export type PodDisruptionBudget = StoredObject<V1PodDisruptionBudget, 'policy/v1', 'PodDisruptionBudget'>
