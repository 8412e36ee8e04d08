// Measures the gauges of existing clusters and backups.
//
//   G1. The journal lists the objects with their versions; only objects with another version than at the last measurement are read from the API server. Without
//       changes, a measurement makes no request.
//   G2. The process keeps the numbers of an object, not the object. They go with the object.
//   G3. At most 500 objects of a kind have gauges: the first ones by namespace and name.

import type { FoundationDBBackup } from '../../../workflows/foundationdb/backup/kind.ts'
import { backupKind } from '../../../workflows/foundationdb/backup/kind.ts'
import type { FoundationDBCluster } from '../../../workflows/foundationdb/cluster/kind.ts'
import { clusterKind } from '../../../workflows/foundationdb/cluster/kind.ts'
import type { Deps } from '../../deps.ts'
import { livingObjects } from '../../journal/conditions.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isNotFound } from '../../kube/errors.ts'
import { resourcePath } from '../../kube/resource-path.ts'
import type { Measure, Sample } from '../../run/metrics.ts'
import { type AgeSample, backupSamples, clusterSamples } from './samples.ts'

const MOST_OBJECTS = 500
/** Requests at the same time. */
const BATCH = 10

/** An existing object, as the journal knows it. */
export interface ListedObject {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly resource_version: number
}

interface MeasuredKind {
  readonly kind: { readonly group: string; readonly kind: string; readonly apiVersion: string; readonly plural: string }
  readonly samplesOf: (object: never) => readonly (Sample | AgeSample)[]
}

const KINDS: readonly MeasuredKind[] = [
  { kind: clusterKind, samplesOf: (cluster: FoundationDBCluster) => clusterSamples(cluster) },
  { kind: backupKind, samplesOf: (backup: FoundationDBBackup) => backupSamples(backup) },
]

/** The measurement throws errors of the journal and of the API server. */
export function measureFoundationDB({
  db,
  cluster,
  kube,
  now,
}: Pick<Deps, 'db' | 'cluster' | 'kube' | 'now'>): Measure {
  const measures = KINDS.map((measured) =>
    measureKind(measured, { kube, now }, async () =>
      livingObjects(db, cluster, measured.kind)
        .select(['uid', 'namespace', 'name', 'resource_version'])
        .orderBy('namespace')
        .orderBy('name')
        .limit(MOST_OBJECTS)
        .execute(),
    ),
  )
  return async () => (await Promise.all(measures.map((measure) => measure()))).flat()
}

/** @param list lists the objects of the kind. */
export function measureKind(
  { kind, samplesOf }: MeasuredKind,
  { kube, now }: { readonly kube: Pick<KubeClient, 'request'>; readonly now: () => Date },
  list: () => Promise<readonly ListedObject[]>,
): Measure {
  let known = new Map<string, { readonly version: number; readonly samples: readonly (Sample | AgeSample)[] }>()
  const read = async ({ namespace, name }: ListedObject): Promise<readonly (Sample | AgeSample)[]> => {
    try {
      return samplesOf(await kube.request<never>('GET', resourcePath(kind, namespace, name)))
    } catch (error) {
      if (!isNotFound(error)) throw error
      return []
    }
  }
  return async () => {
    const objects = await list()
    const next: typeof known = new Map()
    for (let at = 0; at < objects.length; at += BATCH)
      await Promise.all(
        objects.slice(at, at + BATCH).map(async (object) => {
          const { uid, resource_version: version } = object
          const before = known.get(uid)
          // G1
          next.set(uid, before?.version === version ? before : { version, samples: await read(object) })
        }),
      )
    known = next
    const nowMs = now().getTime()
    return [...next.values()].flatMap(({ samples }) => samples.map((sample) => atTime(sample, nowMs)))
  }
}

function atTime(sample: Sample | AgeSample, nowMs: number): Sample {
  if ('value' in sample) return sample
  const { sinceMs, ...gauge } = sample
  return { ...gauge, value: Math.max(0, nowMs - sinceMs) / 1000 }
}
