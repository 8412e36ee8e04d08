// The command line of the node agent.

import { parseArgs } from 'node:util'

import { PROCESSES_ANNOTATION } from '../../../workflows/chaos/node-agent/container.ts'

export interface AgentFlags {
  /** The nodes whose kubelet it replaces; undefined: all. */
  readonly nodes: ReadonlySet<string> | undefined
  readonly namespace: string
  readonly kubeconfig: string | undefined
  /** Undefined: the injector of this package. */
  readonly injector: readonly string[] | undefined
  readonly state: string
  /** Simulates all pods without starting processes. */
  readonly isFake: boolean
  readonly processesAnnotation: string
  readonly hostIP: string
  readonly podIP: string
  /** Whether disruptions of level node may disturb this machine. */
  readonly mayDisturbNode: boolean
  /** Whether a disruption of a target without a process is simulated; otherwise it fails. */
  readonly simulates: boolean
  /** Whether the agent stops injectors when it ends. */
  readonly atEnd: 'leave' | 'stop'
}

export const USAGE = `Usage: pawl node-agent --nodes <names-or-all> [options]

Stands for the kubelet of chaos pods where there is none: starts the injector of
each as a process of this machine and tells how it is.

Options:
  --nodes <names-or-all>          nodes whose chaos pods it runs, separated by
                                  commas (required)
  --namespace <name>              where chaos pods are (default: chaos-
                                  engineering)
  --kubeconfig <file>             of the API server; injectors get it, too
                                  (default: $KUBECONFIG, in a pod its account)
  --injector <command>            program and arguments, separated by spaces;
                                  the pod's follow. "COMMAND sweep" undoes what
                                  a killed one has left (default: pawl injector)
  --state <folder>                folder of its state; one for each machine
                                  (default: /run/pawl-node-agent)
  --play <ready>                  starts nothing: pods are ready at once, and
                                  end well
  --node-level <refuse-or-allow>  whether a disruption of level node may disturb
                                  this machine (default: refuse)
  --no-process <fail-or-simulate>
                                  a disruption of a node, or of a pod that names
                                  no process, fails, or is planned, reported and
                                  simulated (default: fail)
  --processes-annotation <key>    annotation of target pods with the processes of
                                  their containers (default: ${PROCESSES_ANNOTATION})
  --host-ip <address>             status.hostIP of the pods (default: 127.0.0.1)
  --pod-ip <address>              status.podIP of the pods (default: the host's
                                  address)
  --at-end <leave-or-stop>        whether injectors continue when the agent ends;
                                  the next agent adopts them (default: leave)

Examples:
  pawl node-agent --nodes all --at-end stop
  pawl node-agent --nodes node-1 --play ready
`

/** @throws with the flag, the actual and the expected value. */
export function readFlags(args: readonly string[], env: Readonly<Record<string, string | undefined>>): AgentFlags {
  const { values } = parseArgs({ args: [...args], options: OPTIONS, strict: true, allowPositionals: false })
  const hostIP = values['host-ip'] ?? '127.0.0.1'
  return {
    nodes: nodesIn(values.nodes),
    namespace: values.namespace ?? 'chaos-engineering',
    kubeconfig: values.kubeconfig ?? (env['KUBECONFIG'] === '' ? undefined : env['KUBECONFIG']),
    injector: values.injector === undefined ? undefined : commandIn(values.injector),
    state: values.state ?? '/run/pawl-node-agent',
    isFake: oneOf('play', values.play, ['ready']) !== undefined,
    mayDisturbNode: oneOf('node-level', values['node-level'], ['refuse', 'allow']) === 'allow',
    simulates: oneOf('no-process', values['no-process'], ['fail', 'simulate']) === 'simulate',
    processesAnnotation: values['processes-annotation'] ?? PROCESSES_ANNOTATION,
    hostIP,
    podIP: values['pod-ip'] ?? hostIP,
    atEnd: oneOf('at-end', values['at-end'], ['leave', 'stop']) ?? 'leave',
  }
}

const TEXT = { type: 'string' } as const
const OPTIONS = {
  nodes: TEXT,
  namespace: TEXT,
  kubeconfig: TEXT,
  injector: TEXT,
  state: TEXT,
  play: TEXT,
  'node-level': TEXT,
  'no-process': TEXT,
  'processes-annotation': TEXT,
  'host-ip': TEXT,
  'pod-ip': TEXT,
  'at-end': TEXT,
}

function nodesIn(text: string | undefined): ReadonlySet<string> | undefined {
  if (text === 'all') return undefined
  const names = (text ?? '').split(',').filter((name) => name !== '')
  if (names.length === 0)
    throw new Error(`--nodes: found ${text === undefined ? 'nothing' : `'${text}'`}; expected names of nodes, or all`)
  return new Set(names)
}

function commandIn(text: string): readonly string[] {
  const words = text.split(' ').filter((word) => word !== '')
  if (words.length === 0) throw new Error(`--injector: found '${text}'; expected a program`)
  return words
}

function oneOf<Value extends string>(
  flag: string,
  found: string | undefined,
  known: readonly Value[],
): Value | undefined {
  if (found === undefined) return undefined
  const value = known.find((one) => one === found)
  if (value === undefined) throw new Error(`--${flag}: found '${found}'; expected ${known.join(' or ')}`)
  return value
}
