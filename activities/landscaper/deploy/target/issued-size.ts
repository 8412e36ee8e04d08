// How large a token or a kubeconfig may be that a server issues: it is kept in memory, handed to templates, and written into Secrets.

import { configurationProblem } from '../run/deploy-errors.ts'

const MOST_BYTES = 64 * 1024

/** @throws DeployError that ends a job and tells the size alone. */
export function refuseLarge(what: 'token' | 'kubeconfig', text: string): void {
  const bytes = Buffer.byteLength(text)
  if (bytes <= MOST_BYTES) return
  const message = `found a ${what} of ${bytes} bytes, expected at most ${MOST_BYTES}`
  throw configurationProblem('IssueKubeconfig', 'KubeconfigNotIssued', message)
}
