// The program `node-agent`: replaces the kubelet for the declared pods of wings where no kubelet exists.

import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

import { createKubeClient } from '../../activities/kube/client.ts'
import { PODS } from '../../activities/pods.gen.ts'
import type { AgentPlace, WingPods } from '../../activities/pods.ts'
import type { ProgramStart } from '../../activities/program.ts'
import { createLogger } from '../server/log.ts'
import { type AgentWing, NodeAgent } from './agent.ts'
import { findNamespaces } from './container-root.ts'
import { type AgentFlags, readAgentFlags, usage } from './flags.ts'
import { textOf } from './processes.ts'

/** The variables that a program needs to run. Processes of pods get no others of the agent. */
const INHERITED = /^(?:PATH|HOME|USER|LANG|LC_.*|TZ|NODE_OPTIONS|NODE_EXTRA_CA_CERTS|NODE_COMPILE_CACHE|NO_COLOR)$/

/** Runs until the signal. Returns the exit code: 0, or 1 if it could not start. */
export async function run({ args, env, self, end, print, complain }: ProgramStart): Promise<number> {
  if (args.includes('--help') || args.includes('--help-all')) {
    print(usage(args.includes('--help-all')))
    return 0
  }
  try {
    const given = readAgentFlags(args, env)
    // Processes run in other working directories.
    const kubeconfig = given.kubeconfig === undefined ? undefined : resolve(given.kubeconfig)
    const flags = { ...given, kubeconfig, state: resolve(given.state) }
    const kube = createKubeClient({ kubeconfigPath: kubeconfig, userAgent: 'pawl-node-agent' })
    const log = createLogger('node-agent', env['PAWL_LOG_LEVEL'] ?? 'info')
    const found = await findNamespaces(env['PATH'] ?? '')
    const namespaces = 'problem' in found ? undefined : found
    const place = {
      kube,
      log,
      kubeconfig,
      hostIP: flags.hostIP,
      mountProblem: 'problem' in found ? found.problem : undefined,
      agentEnv: env,
      pawl: self.slice(0, -1),
      env: Object.fromEntries(
        Object.entries(env).filter(([name, value]) => value !== undefined && INHERITED.test(name)),
      ),
    } as Omit<AgentPlace, 'folder'>
    const wings = await openWings(flags, place)
    await new NodeAgent({ kube, settings: flags, wings, namespaces, log }).run(end)
    await kube.close()
    return 0
  } catch (error) {
    complain(`node-agent: ${textOf(error)}\n`)
    return 1
  }
}

async function openWings(flags: AgentFlags, place: Omit<AgentPlace, 'folder'>): Promise<readonly AgentWing[]> {
  const declared = flags.wings.flatMap((name) => (PODS[name] === undefined ? [] : [[name, PODS[name]] as const]))
  const further = flags.module === undefined ? [] : [['module', await readModule(flags.module)] as const]
  return await Promise.all(
    [...declared, ...further].map(async ([name, pods]) => {
      const folder = join(flags.state, 'wings', name)
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const module = await pods.load()
      return { name, labels: pods.labels, pods: await module.open(flags.valuesOf(pods), { ...place, folder }) }
    }),
  )
}

/** The declaration that the module exports as `pods`. */
async function readModule(path: string): Promise<WingPods> {
  const { pods } = (await import(pathToFileURL(resolve(path)).href)) as { readonly pods?: WingPods }
  if (pods === undefined) throw new Error(`--pods: "${path}" has no export "pods"; export the declaration of the pods`)
  return pods
}
