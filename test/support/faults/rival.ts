// Another client, which writes to each object just before the first attempt of each of Pawl's writes to it.

import type { Cluster, LsObject } from '../cluster/cluster.ts'

const NOTE = 'example.org/note-'

export class Rival {
  readonly #cluster: Cluster
  readonly #counts = new Map<string, number>()
  readonly #isBeaten = new Set<string>()

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /** The number of its writes. */
  get struck(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0)
  }

  async strike(label: string, path: string): Promise<undefined> {
    if (label.startsWith('POST ')) return
    // The retry after a conflict succeeds.
    if (this.#isBeaten.delete(`${label} ${path}`)) return
    this.#isBeaten.add(`${label} ${path}`)
    const of = path.replace(/\/status$/, '')
    const count = (this.#counts.get(of) ?? 0) + 1
    this.#counts.set(of, count)
    const body = {
      metadata: { annotations: { [`${NOTE}${count}`]: 'a' }, labels: { [`${NOTE}${count}`]: 'l' } },
      ...(of.includes('/deployitems/') && { spec: { timeout: `${600 + count}s` } }),
    }
    await this.#cluster.kube.request('PATCH', of, { body, contentType: 'application/merge-patch+json' })
  }

  /** The fields that it wrote and that the object no longer has, and objects to which it has not written. */
  lost({ metadata, kind, spec }: LsObject): string[] {
    const place = `/${(kind ?? '').toLowerCase()}s/${metadata.name}`
    const [, count = 0] = [...this.#counts].find(([path]) => path.endsWith(place)) ?? []
    if (count === 0) return [`${metadata.name} has no note`]
    const keys = Array.from({ length: count }, (_, index) => `${NOTE}${index + 1}`)
    return [
      ...keys.filter((key) => metadata.annotations?.[key] !== 'a').map((key) => `${metadata.name} annotation ${key}`),
      ...keys.filter((key) => metadata.labels?.[key] !== 'l').map((key) => `${metadata.name} label ${key}`),
      ...(kind === 'DeployItem' && spec?.['timeout'] !== `${600 + count}s` ? [`${metadata.name} timeout`] : []),
    ]
  }
}
