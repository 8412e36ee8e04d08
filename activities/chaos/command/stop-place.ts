// Where an emergency stop is written: at a namespace, or for all of them at that of chaos pods. With the rights of a person.

import { CHAOS_NAMESPACE } from '../../../workflows/chaos/config.ts'
import { EMERGENCY_STOP_ANNOTATION } from '../../../workflows/chaos/contract.ts'
import { namespaceView } from '../../../workflows/chaos/emergency-stop.ts'
import type { CommandStart } from '../../command.ts'
import type { KubeClient, KubeObject } from '../../kube/client.ts'
import { isNotFound } from '../../kube/kube-error.ts'
import { resourcePath } from '../../kube/resource-path.ts'

type Kube = Pick<KubeClient, 'request'>

export interface StopPlace {
  /** The namespace that has the annotation. */
  readonly name: string
  /** Whose Disruptions it is about; undefined: all. */
  readonly namespace: string | undefined
  /** For people. */
  readonly title: string
  /** Flags of the commands that mean it. */
  readonly flags: string
}

export const CLUSTER: StopPlace = { name: CHAOS_NAMESPACE, namespace: undefined, title: 'the cluster', flags: '--all' }

export function placeOf({ given, namespace }: Pick<CommandStart, 'given' | 'namespace'>): StopPlace {
  return given['all'] === true
    ? CLUSTER
    : { name: namespace, namespace, title: `namespace ${namespace}`, flags: `-n ${namespace}` }
}

/** What its annotation says; undefined: there is no stop. @throws when the namespace is not there. */
export async function readStop(kube: Kube, { name, namespace }: StopPlace): Promise<string | undefined> {
  try {
    return namespaceView(await kube.request<KubeObject>('GET', pathOf(name))).stop
  } catch (error) {
    if (!isNotFound(error)) throw error
    const expected =
      namespace === undefined
        ? 'that of chaos pods, which deploy/setup/chaos makes'
        : 'one that is there (see -n and --context)'
    throw new Error(`the cluster has no namespace ${name}, expected ${expected}`, { cause: error })
  }
}

/** @param stop why; null: it is lifted. */
export async function writeStop(kube: Kube, { name }: StopPlace, stop: string | null): Promise<void> {
  await kube.request('PATCH', pathOf(name), {
    body: { metadata: { annotations: { [EMERGENCY_STOP_ANNOTATION]: stop } } },
    contentType: 'application/merge-patch+json',
    query: { fieldManager: 'pawl-cli' },
  })
}

function pathOf(namespace: string): string {
  return resourcePath({ apiVersion: 'v1', plural: 'namespaces' }, undefined, namespace)
}
