// ConfigMaps and Secrets that pods of this machine use, kept up to date. Each object has one watch, shared by its pods.

import type { KubeClient, KubeObject } from '../../activities/kube/client.ts'
import { followObjects } from '../../activities/kube/follow-objects.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'

const PLURALS = { configMap: 'configmaps', secret: 'secrets' } as const

export interface WatchedObject {
  readonly kind: keyof typeof PLURALS
  readonly namespace: string
  readonly name: string
}

function keyOf({ kind, namespace, name }: WatchedObject): string {
  return `${kind}/${namespace}/${name}`
}

interface Watched {
  readonly users: Set<() => void>
  readonly stop: AbortController
  /** Resolved after the first list. */
  readonly listed: Promise<void>
  object: KubeObject | undefined
}

export class WatchedObjects {
  private readonly kube: Pick<KubeClient, 'request' | 'stream'>
  private readonly watched = new Map<string, Watched>()

  constructor(kube: Pick<KubeClient, 'request' | 'stream'>) {
    this.kube = kube
  }

  /** Watches the object until the signal, and calls `onChange` after each change. Resolves after the first list. */
  async use(object: WatchedObject, onChange: () => void, signal: AbortSignal): Promise<void> {
    const key = keyOf(object)
    const watched = this.watched.get(key) ?? this.start(key, object)
    watched.users.add(onChange)
    signal.addEventListener('abort', () => {
      watched.users.delete(onChange)
      if (watched.users.size > 0) return
      watched.stop.abort()
      this.watched.delete(key)
    })
    await watched.listed
  }

  /** The object of a watch; undefined: it does not exist. */
  get(object: WatchedObject): KubeObject | undefined {
    return this.watched.get(keyOf(object))?.object
  }

  private start(key: string, object: WatchedObject): Watched {
    let markListed: () => void = () => undefined
    const listed = new Promise<void>((resolve) => (markListed = resolve))
    const watched: Watched = { users: new Set(), stop: new AbortController(), listed, object: undefined }
    this.watched.set(key, watched)
    void this.follow(watched, object, markListed)
    return watched
  }

  private async follow(watched: Watched, { kind, namespace, name }: WatchedObject, listed: () => void): Promise<void> {
    const path = resourcePath({ apiVersion: 'v1', plural: PLURALS[kind] }, namespace)
    const { signal } = watched.stop
    const query = { fieldSelector: `metadata.name=${name}` }
    // A list has no kinds of its items.
    const kindName = kind === 'secret' ? 'Secret' : 'ConfigMap'
    for await (const found of followObjects(this.kube, path, { query, signal })) {
      if (found.type === 'interrupted') continue
      const object = found.type === 'listed' ? found.objects[0] : found.object
      const isDeleted = found.type === 'event' && found.eventType === 'DELETED'
      watched.object = object === undefined || isDeleted ? undefined : { ...object, kind: kindName }
      listed()
      for (const onChange of watched.users) onChange()
    }
  }
}
