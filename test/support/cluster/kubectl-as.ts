// Users of a cluster beside the admin, by impersonation: to admission they are who they are called.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import type { TestServers } from '../servers/servers.ts'

const run = promisify(execFile)

export interface Kubectl {
  /** @returns what a command has printed. @throws with that when it has failed. */
  (...args: readonly string[]): Promise<string>
  /** The same with what it was told beside, such as warnings. */
  both(...args: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }>
}

/** Who may do all, under this name, in the namespace; of other groups only what these may. */
export function kubectlAs(
  { kubectlPath, kubeconfigPath }: Pick<TestServers, 'kubectlPath' | 'kubeconfigPath'>,
  namespace: string,
  user: string,
  groups: readonly string[] = ['system:masters'],
): Kubectl {
  const as = [
    `--kubeconfig=${kubeconfigPath}`,
    `--as=${user}`,
    ...groups.map((group) => `--as-group=${group}`),
    '-n',
    namespace,
  ]
  const both: Kubectl['both'] = async (...args) => await run(kubectlPath, [...as, ...args])
  return Object.assign(async (...args: readonly string[]) => (await both(...args)).stdout, { both })
}
