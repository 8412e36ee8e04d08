// Users of a cluster beside the admin, by impersonation: to admission they are who they are called.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import type { TestServers } from './servers.ts'

const run = promisify(execFile)

/** Who may do all, under this name. @returns the answer of a command of kubectl in the namespace. @throws with what it has printed. */
export function kubectlAs(
  { kubectlPath, kubeconfigPath }: Pick<TestServers, 'kubectlPath' | 'kubeconfigPath'>,
  namespace: string,
  user: string,
): (...args: readonly string[]) => Promise<string> {
  const as = [`--kubeconfig=${kubeconfigPath}`, `--as=${user}`, '--as-group=system:masters', '-n', namespace]
  return async (...args) => (await run(kubectlPath, [...as, ...args])).stdout
}
