// Runs kubectl as another user, by impersonation.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import type { TestServers } from '../servers/servers.ts'

const run = promisify(execFile)

export interface Kubectl {
  /** @returns the standard output. @throws when the command fails. */
  (...args: readonly string[]): Promise<string>
  /** Standard output and standard error, for example with warnings. */
  both(...args: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }>
}

/** kubectl in the namespace as this user. @param groups by default the user may do everything. */
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
