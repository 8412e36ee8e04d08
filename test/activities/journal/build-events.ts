// Builders of kinds, objects and events for tests of the journal.

import type { KubeObject } from '../../../activities/kube/client.ts'
import type { EventType, ObjectEvent } from '../../../activities/journal/write/incoming-events.ts'
import type { SubjectRules } from '../../../activities/journal/write/jobs.ts'
import {
  annotation,
  path,
  type RoutedEvent,
  type Routing,
  textAt,
  type WatchedKind,
} from '../../../workflows/kit/index.ts'

export const OPERATION = 'test.pawl.dev/operation'
export const IF_CHANGED = 'test.pawl.dev/if-changed'

export const taskKind: WatchedKind = {
  apiVersion: 'test.pawl.dev/v1',
  kind: 'Task',
  plural: 'tasks',
  projection: [
    annotation(OPERATION),
    annotation(IF_CHANGED),
    path('spec.type'),
    path('status.phase'),
    path('status.jobID'),
    path('status.jobIDFinished'),
    path('status.observedGeneration'),
  ],
  hashed: [path('data')],
}

/** What the journal knows the kind by. */
export const TASK = { group: 'test.pawl.dev', kind: 'Task' } as const

export interface TaskOptions {
  readonly uid?: string
  readonly name?: string
  readonly namespace?: string
  readonly version: number
  readonly owner?: { readonly uid: string; readonly kind: string; readonly apiVersion?: string; readonly name?: string }
  readonly deleting?: boolean
  readonly finalizers?: readonly string[]
  readonly annotations?: Readonly<Record<string, string>>
  readonly generation?: number
  readonly spec?: object
  readonly status?: object
  readonly data?: object
}

export function task({
  uid = 'u1',
  name = `task-${uid}`,
  namespace = 'ns',
  version,
  ...rest
}: TaskOptions): KubeObject {
  const { owner, deleting = false, finalizers, annotations, generation = 1, ...content } = rest
  return {
    apiVersion: taskKind.apiVersion,
    kind: taskKind.kind,
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion: String(version),
      generation,
      ...(deleting && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      ...(finalizers && { finalizers }),
      ...(annotations && { annotations }),
      ...(owner && {
        ownerReferences: [{ apiVersion: 'test.pawl.dev/v1', name: `task-${owner.uid}`, controller: true, ...owner }],
      }),
    },
    ...content,
  }
}

export function seen(type: EventType, options: TaskOptions, watched: WatchedKind = taskKind): ObjectEvent {
  return { watched, type, object: task(options) }
}

/** A controller `task` whose subjects are the tasks themselves. */
export function routeToSelf(event: RoutedEvent): Routing {
  const { uid, namespace, name, projection } = event
  if (textAt(projection, path('status.phase')) === 'Boring') return { ignored: 'boring' }
  return { routes: [{ controller: 'task', uid, namespace, name, mode: 'start', cause: `task ${event.type}` }] }
}

export const NOW = new Date('2026-02-03T04:05:06Z')
export const later = (ms: number): Date => new Date(NOW.getTime() + ms)

/** What the journal knows of that controller. */
export const rules: SubjectRules = { subjectKinds: { task: TASK }, modes: { task: 'job' } }

export const deps = { route: routeToSelf, ...rules, contentKey: Buffer.alloc(32, 7), now: () => NOW }

/** Like `deps`, but no event concerns a controller. */
export const unrouted = { ...deps, route: (): Routing => ({ ignored: 'set-up' }) }
