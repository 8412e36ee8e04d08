// Kubeconfigs that were issued lately, so that a job that asks again gets the same. In memory, and bounded in number and time, and, as what
// issues them refuses large ones, in bytes.

import { createHash } from 'node:crypto'
import type { TargetCluster } from '../deploy/target/target-cluster.ts'
import type { IssuedKubeconfig } from '../render/engine/kubeconfig-requests.ts'

const REMEMBERED_MS = 5 * 60_000
const MAX_REMEMBERED = 100

interface Remembered {
  readonly issued: IssuedKubeconfig
  readonly atMs: number
}

export class LatelyIssued {
  /** By the open cluster: a Target that is changed, and credentials that are renewed, open another one. */
  readonly #known = new WeakMap<TargetCluster, Map<string, Remembered>>()

  /** @param of whose it is, and what; may be long. @throws what `issue` throws, which is not kept. */
  async of(
    { cluster, of, nowMs }: { readonly cluster: TargetCluster; readonly of: readonly string[]; readonly nowMs: number },
    issue: () => Promise<IssuedKubeconfig>,
  ): Promise<IssuedKubeconfig> {
    const lately = this.#known.get(cluster) ?? new Map<string, Remembered>()
    this.#known.set(cluster, lately)
    const key = createHash('sha256').update(JSON.stringify(of)).digest('hex')
    for (const [one, { atMs }] of lately) if (nowMs - atMs >= REMEMBERED_MS) lately.delete(one)
    const known = lately.get(key)
    if (known !== undefined) return known.issued
    const issued = await issue()
    lately.delete(key)
    lately.set(key, { issued, atMs: nowMs })
    const [oldest] = lately.keys()
    if (lately.size > MAX_REMEMBERED && oldest !== undefined) lately.delete(oldest)
    return issued
  }
}
