// Objects as the API server has them, read with the rights of the person at the command line: what of them the journal does not keep.

import { inParallel } from '../../activities/kube/in-parallel.ts'
import type { KubeObject, Resource } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import type { Config } from '../server/config.ts'
import { openPerson, type PersonFlags } from './person.ts'

export interface LiveRead extends Resource {
  readonly uid: string
  readonly namespace: string
  readonly name: string
}

/** So many are read, so many at a time. */
const MOST_READ = 200
const AT_ONCE = 10
const MOST_MS = 10_000

export interface Live {
  /** By uid. */
  readonly objects: ReadonlyMap<string, KubeObject>
  /** Why some are missing, each reason once. */
  readonly problems: readonly string[]
}

/** Those that are there under these names, and are the same objects still. What goes wrong is told, not thrown. */
export async function readLive(wanted: readonly LiveRead[], flags: PersonFlags, config: Config): Promise<Live> {
  if (wanted.length === 0) return { objects: new Map<string, KubeObject>(), problems: [] }
  const problems = new Set<string>()
  if (wanted.length > MOST_READ)
    problems.add(`only the first ${MOST_READ} of ${wanted.length} objects are read from the API server`)
  const objects = new Map<string, KubeObject>()
  try {
    const kube = await openPerson(flags, config)
    const signal = AbortSignal.timeout(MOST_MS)
    try {
      await inParallel(wanted.slice(0, MOST_READ), AT_ONCE, async (one) => {
        const path = resourcePath(one, one.namespace, one.name)
        const found = await kube.request<KubeObject>('GET', path, { signal }).catch((error: unknown) => {
          problems.add(error instanceof Error ? error.message : String(error))
        })
        if (found?.metadata.uid === one.uid) objects.set(one.uid, found)
      })
    } finally {
      await kube.close()
    }
  } catch (error) {
    problems.add(error instanceof Error ? error.message : String(error))
  }
  return { objects, problems: [...problems].slice(0, 3) }
}
