// The program `node-agent`: replaces the kubelet for chaos pods where no kubelet exists. Source: spec/chaos.md 0, 6
// (6).

import { resolve } from 'node:path'

import { createKubeClient } from '../../kube/client.ts'
import type { ProgramStart } from '../../program.ts'
import { NodeAgent } from './agent.ts'
import { readFlags, USAGE } from './flags.ts'
import { createLog, textOf } from '../injector/log.ts'
import { inheritedVariables } from './prepare-injector.ts'

/** Runs until the signal. Returns the exit code: 0, or 1 if it could not start. */
export async function run({ args, env, self, end, print, complain }: ProgramStart): Promise<number> {
  if (args.includes('--help')) {
    print(USAGE)
    return 0
  }
  try {
    const given = readFlags(args, env)
    // Injectors run in other working directories.
    const kubeconfig = given.kubeconfig === undefined ? undefined : resolve(given.kubeconfig)
    const flags = { ...given, kubeconfig, state: resolve(given.state) }
    const kube = createKubeClient({ kubeconfigPath: flags.kubeconfig, userAgent: 'pawl-node-agent' })
    const log = createLog(complain, env['LOG_LEVEL'] ?? 'info', {}, Date.now)
    if (log === undefined)
      throw new Error(`LOG_LEVEL: found '${env['LOG_LEVEL'] ?? ''}'; expected debug, info, warn or error`)
    const inherited = inheritedVariables(env)
    const agent = new NodeAgent({
      kube,
      flags,
      log,
      command: flags.injector ?? [...self.slice(0, -1), 'injector'],
      env: kubeconfig === undefined ? inherited : { ...inherited, KUBECONFIG: kubeconfig },
    })
    await agent.run(end)
    await kube.close()
    return 0
  } catch (error) {
    complain(`node-agent: ${textOf(error)}\n`)
    return 1
  }
}
