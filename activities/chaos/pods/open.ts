// The injectors of chaos pods as processes. Source: spec/chaos.md 2.5, 6 (6).

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { INJECTOR_CONDITION, INJECTOR_CONTAINER, SIMULATED_REASON } from '../../../workflows/chaos/contract.ts'
import type { FlagValues } from '../../../workflows/kit/index.ts'
import type { KubeObject } from '../../kube/client.ts'
import type { AgentPlace, EndedContainer, OpenPods, PodCondition, PodState } from '../../pods.ts'
import type { ChaosPodFlags } from './flags.ts'
import {
  containersFile,
  followTarget,
  inheritedVariables,
  injectorProcess,
  type InjectorSettings,
  SIMULATED_VARIABLE,
} from './injector-process.ts'

const SWEEP_LIMIT_MS = 60_000

export function open(flags: FlagValues<ChaosPodFlags>, place: AgentPlace): OpenPods {
  const { kube, log, hostIP, kubeconfig } = place
  const command = flags.injector?.split(' ').filter((word) => word !== '') ?? [...place.pawl, 'injector']
  const annotation = flags['processes-annotation']
  const settings: InjectorSettings = {
    kube,
    command,
    hostIP,
    processesAnnotation: annotation,
    env: { ...inheritedVariables(place.agentEnv), ...(kubeconfig !== undefined && { KUBECONFIG: kubeconfig }) },
    stateFolder: join(place.folder, 'injectors'),
    mayDisturbNode: flags['node-level'] === 'allow',
    simulates: flags['no-process'] === 'simulate',
  }
  return {
    namespace: flags['chaos-namespace'],
    address: 'host',
    allowsHostPaths: true,
    skipsVolumes: true,
    process: async (container) => await injectorProcess(settings, container),
    // Chaos pods probe a file.
    probeCommand: (words, { outside }) => words.map((word) => (word.startsWith('/') ? outside(word) : word)),
    whileRunning: (container, signal) => {
      // Updates are only needed if the injector got a containers file at its start.
      if (existsSync(containersFile(container))) void followTarget(container, { kube, annotation, log, signal })
    },
    cleanUp: async (container) => await sweep(command, container),
    conditions: { types: [INJECTOR_CONDITION], of: injectorCondition },
    playedUntil: deadlineOf,
  }
}

/** Undoes the remaining changes of the injector. */
async function sweep(command: readonly string[], { env, root, exitCode }: EndedContainer): Promise<void> {
  // The exit code 0 of an injector means a complete clean-up.
  if (exitCode === 0) return
  const [program = '', ...args] = command
  await promisify(execFile)(program, [...args, 'sweep'], { cwd: root, env, timeout: SWEEP_LIMIT_MS })
}

// Keeps the status small.
const MAX_MESSAGE_LENGTH = 2000

/** Empty if the injector has written no message. */
export function injectorCondition({ containers, isReady, phase }: PodState): readonly PodCondition[] {
  const { env, message } = containers[INJECTOR_CONTAINER] ?? {}
  if (message === undefined || message === '') return []
  // A failed simulation does not count as simulated.
  const state =
    env?.[SIMULATED_VARIABLE] !== undefined && (isReady || phase === 'Succeeded')
      ? { status: 'True', reason: SIMULATED_REASON }
      : { status: 'False', reason: 'NotInjected' }
  return [{ type: INJECTOR_CONDITION, ...state, message: message.slice(0, MAX_MESSAGE_LENGTH) }]
}

/** When a simulated injector ends: at the deadline of its arguments. */
export function deadlineOf(pod: KubeObject): number | undefined {
  const { spec = {} } = pod as {
    readonly spec?: { readonly containers?: readonly { readonly args?: readonly string[] }[] }
  }
  const args = spec.containers?.[0]?.args ?? []
  const deadline = args.includes('--deadline') ? Date.parse(args[args.indexOf('--deadline') + 1] ?? '') : NaN
  return Number.isNaN(deadline) ? undefined : deadline
}
