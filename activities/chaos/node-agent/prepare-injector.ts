// What the injector of a pod is started with on this machine. Where a container has a file system of its own, it has folders of its own, and
// variables that say where they are.

import {
  argumentsOutside,
  containerVariables,
  pathOutside,
  readProcesses,
} from '../../../workflows/chaos/node-agent/container.ts'
import { type KubeClient, type KubeObject, resourcePath } from '../../kube/client.ts'
import { isNotFound } from '../../kube/errors.ts'
import { textOf } from '../injector/log.ts'
import type { PodFolder } from './pod-folder.ts'
import { type Prepared, Unstartable } from './process-run.ts'
import { PODS, type SeenPod } from './read-pod.ts'

export interface InjectorSettings {
  readonly kube: Pick<KubeClient, 'request'>
  /** Program and first arguments of the injector. */
  readonly command: readonly string[]
  /** Of the agent's own variables those that the injector gets. */
  readonly env: Readonly<Record<string, string>>
  /** Where injectors write down what they have to undo. One for all: a sweep leaves alone what stands in the notes of those that live. */
  readonly stateFolder: string
  readonly hostIP: string
  readonly podIP: string
  /** Of targets: which processes stand for their containers. */
  readonly processesAnnotation: string
}

/** Of the agent's variables what a program needs to run, and to reach the API server; no more: an injector is nobody's confidant. */
const INHERITED =
  /^(?:PATH|HOME|USER|LANG|LC_.*|TZ|KUBECONFIG|KUBERNETES_SERVICE_(?:HOST|PORT)|NODE_OPTIONS|NODE_EXTRA_CA_CERTS|NO_PROXY|HTTPS_PROXY|NO_COLOR)$/

export function inheritedVariables(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value !== undefined && INHERITED.test(name) ? [[name, value]] : [],
    ),
  )
}

/** @throws Unstartable for a pod that no process can stand for; KubeError when its target cannot be read now. */
export async function prepareInjector(settings: InjectorSettings, pod: SeenPod, folder: PodFolder): Promise<Prepared> {
  const { args, env, mounts, probe } = pod.container
  const processes = await processesOf(settings, pod)
  try {
    const given = containerVariables(env, fieldsOf(settings, pod))
    const sysrq = folder.inside('sysrq')
    const sysrqTrigger = folder.inside('sysrq-trigger')
    return {
      argv: [...settings.command, ...argumentsOutside(args, mounts, processes)],
      env: {
        ...settings.env,
        ...Object.fromEntries(Object.entries(given).map(([name, value]) => [name, pathOutside(value, mounts)])),
        TMPDIR: folder.inside('tmp'),
        CHAOS_INJECTOR_STATE: settings.stateFolder,
        ...(probe !== undefined && { CHAOS_INJECTOR_READINESS_FILE: folder.inside(probe.file) }),
        // The machine under this agent is somebody's, not a node that may be lost: what would crash it is written into files.
        CHAOS_INJECTOR_MOUNT_SYSRQ: sysrq,
        CHAOS_INJECTOR_MOUNT_SYSRQ_TRIGGER: sysrqTrigger,
      },
      files: [sysrq, sysrqTrigger],
    }
  } catch (error) {
    throw new Unstartable(textOf(error))
  }
}

function fieldsOf({ hostIP, podIP }: InjectorSettings, { uid, namespace, name, nodeName }: SeenPod) {
  return {
    ...{ 'metadata.name': name, 'metadata.namespace': namespace, 'metadata.uid': uid },
    ...{ 'spec.nodeName': nodeName, 'status.hostIP': hostIP, 'status.podIP': podIP },
  }
}

/** Of the target; none of a node. */
async function processesOf({ kube, processesAnnotation }: InjectorSettings, { target }: SeenPod) {
  if (target.namespace === '' || target.name === '') return {}
  const annotation = await kube
    .request<KubeObject>('GET', resourcePath(PODS, target.namespace, target.name))
    .then(({ metadata }) => metadata.annotations?.[processesAnnotation])
    .catch((error: unknown) => {
      if (isNotFound(error)) return undefined
      throw error
    })
  if (annotation === undefined) return {}
  try {
    return readProcesses(annotation)
  } catch (error) {
    throw new Unstartable(`${processesAnnotation} of pod ${target.namespace}/${target.name}: ${textOf(error)}`)
  }
}
