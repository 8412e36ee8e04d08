// A cache of issued kubeconfigs, so that repeated requests of a job get the same one. Bounded in number and time; the issuer limits the size of each.

import { createHash } from 'node:crypto'
import type { TargetCluster } from '../deploy/target/target-cluster.ts'
import type { IssuedKubeconfig } from '../render/engine/kubeconfig-requests.ts'

const TTL_MS = 5 * 60_000
const MAX_CACHED = 100

interface CachedKubeconfig {
  readonly issued: IssuedKubeconfig
  readonly atMs: number
}

export class KubeconfigCache {
  /** By open cluster: a changed Target or renewed credentials open another one. */
  readonly #byCluster = new WeakMap<TargetCluster, Map<string, CachedKubeconfig>>()

  /** @param of identifies job and request; may be long. @throws the errors of `issue`, which are not cached. */
  async getOrIssue(
    { cluster, of, nowMs }: { readonly cluster: TargetCluster; readonly of: readonly string[]; readonly nowMs: number },
    issue: () => Promise<IssuedKubeconfig>,
  ): Promise<IssuedKubeconfig> {
    const entries = this.#byCluster.get(cluster) ?? new Map<string, CachedKubeconfig>()
    this.#byCluster.set(cluster, entries)
    const key = createHash('sha256').update(JSON.stringify(of)).digest('hex')
    for (const [one, { atMs }] of entries) if (nowMs - atMs >= TTL_MS) entries.delete(one)
    const cached = entries.get(key)
    if (cached !== undefined) return cached.issued
    const issued = await issue()
    entries.delete(key)
    entries.set(key, { issued, atMs: nowMs })
    const [oldest] = entries.keys()
    if (entries.size > MAX_CACHED && oldest !== undefined) entries.delete(oldest)
    return issued
  }
}
