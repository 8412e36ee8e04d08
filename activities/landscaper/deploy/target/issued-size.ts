// Limits the size of tokens and kubeconfigs that a server issues, because they are kept in memory, passed to templates and written into Secrets.

import { configurationProblem } from '../run/deploy-errors.ts'

const MOST_BYTES = 64 * 1024

/** @throws DeployError that ends the job; its message has only the size. */
export function refuseLarge(what: 'token' | 'kubeconfig', text: string): void {
  const bytes = Buffer.byteLength(text)
  if (bytes <= MOST_BYTES) return
  const message = `found a ${what} of ${bytes} bytes, expected at most ${MOST_BYTES}`
  throw configurationProblem('IssueKubeconfig', 'KubeconfigNotIssued', message)
}
