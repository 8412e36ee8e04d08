// Follows the target of an injector that runs: when its containers are started again, other processes stand for them.

import type { KubeClient } from '../../kube/client.ts'
import { resourcePath } from '../../kube/resource-path.ts'
import { followObjects } from '../../kube/follow-objects.ts'
import { type Log, textOf } from '../injector/log.ts'
import { type PodFolder, replaceFile } from './pod-folder.ts'
import { processesOf } from './prepare-injector.ts'
import { PODS, type SeenPod } from './read-pod.ts'

export interface TargetProcesses {
  readonly kube: Pick<KubeClient, 'request' | 'stream'>
  readonly annotation: string
  readonly log: Log
  readonly signal: AbortSignal
}

/** Writes down each change of the annotation, until the signal. A target that has none, or is gone, changes nothing. Never rejects. */
export async function followTarget(
  { target, name }: SeenPod,
  folder: PodFolder,
  { kube, annotation, log, signal }: TargetProcesses,
): Promise<void> {
  const query = { fieldSelector: `metadata.name=${target.name}` }
  let written: string | undefined
  for await (const found of followObjects(kube, resourcePath(PODS, target.namespace), { query, signal })) {
    const [object] = found.type === 'listed' ? found.objects : found.type === 'event' ? [found.object] : []
    if (object === undefined) continue
    try {
      const processes = processesOf(object, annotation)
      const text = processes === undefined ? written : JSON.stringify(processes)
      if (text === undefined || text === written) continue
      await replaceFile(folder.containers, text)
      written = text
    } catch (error) {
      log.warn('the injector is not told of its target', { pod: name, error: textOf(error) })
    }
  }
}
