// The kinds of coordination.k8s.io/v1, for `bind coordination.k8s.io/v1 pawl/kit/coordination.k8s.io/v1`. Types only.

import type { V1Lease } from '@kubernetes/client-node'

import type { StoredObject } from '../../stored-object.ts'

export type Lease = StoredObject<V1Lease, 'coordination.k8s.io/v1', 'Lease'>
