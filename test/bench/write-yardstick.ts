// Yardstick: how many plain writes a second the set's API server takes, through the client that the engine uses.

import { randomBytes } from 'node:crypto'

import type { KubeClient } from '../../activities/kube/client.ts'
import { inParallel } from '../../activities/kube/in-parallel.ts'
import { configMap } from '../support/landscaper/manifests.ts'
import { ProcessMeter, type ProcessTree } from './processes.ts'

export interface WriteSpeed {
  readonly perSecond: number
  /** CPU of API server, etcd and client together, for each write. */
  readonly coreMs: number
}

const COUNT = 500
const AT_ONCE = 16
const PARTS: ReadonlySet<string> = new Set(['kube-apiserver', 'etcd'])

/** Creates, patches and deletes ConfigMaps in a namespace of its own. */
export async function measureWrites(kube: KubeClient, processes: readonly ProcessTree[]): Promise<WriteSpeed> {
  const namespace = `bench-${randomBytes(4).toString('hex')}`
  const path = `/api/v1/namespaces/${namespace}`
  await kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name: namespace } } })
  try {
    const names = Array.from({ length: COUNT }, (_, index) => `map-${index}`)
    const patch = { body: { data: { key: 'other' } }, contentType: 'application/merge-patch+json' }
    const meter = new ProcessMeter(processes.filter(({ name }) => PARTS.has(name)))
    const [begin, client] = [performance.now(), process.cpuUsage()]
    await inParallel(names, AT_ONCE, (name) =>
      kube.request('POST', `${path}/configmaps`, { body: configMap(name, namespace) }),
    )
    await inParallel(names, AT_ONCE, (name) => kube.request('PATCH', `${path}/configmaps/${name}`, patch))
    await inParallel(names, AT_ONCE, (name) => kube.request('DELETE', `${path}/configmaps/${name}`))
    const seconds = (performance.now() - begin) / 1000
    const { user, system } = process.cpuUsage(client)
    const servers = Object.values(meter.end()).reduce((total, usage) => total + usage.cpuSeconds, 0)
    const writes = 3 * COUNT
    return { perSecond: writes / seconds, coreMs: (servers * 1000 + (user + system) / 1000) / writes }
  } finally {
    await kube.request('DELETE', path)
  }
}
