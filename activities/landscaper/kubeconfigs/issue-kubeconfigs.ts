// Issues kubeconfigs with short-lived credentials for the clusters of Targets, with the credentials of these Targets, for templates. Source:
// spec/landscaper.md 3.7.
//
//   I1. A repeated request of a job gets the same kubeconfig (kubeconfig-cache.ts), so a repeated rendering makes no new requests and no new writes.
//   I2. Errors contain names of objects, never issued values. Each response is validated before use.

import { finalFailure, KubeError, retryableFailure } from '../../kube/errors.ts'
import type {
  KubeconfigSpec,
  IssuedKubeconfig,
  KubeconfigSource,
  TokenSpec,
} from '../render/engine/kubeconfig-requests.ts'
import type { Tenant } from '../bounded/thread-pool.ts'
import { configurationProblem, toDeployError } from '../deploy/run/deploy-errors.ts'
import { DeployError } from '../deploy/run/deployer.ts'
import { requestShootAccess } from '../deploy/target/gardener.ts'
import { type ClusterAccess, formatKubeconfig } from '../deploy/target/kubeconfig.ts'
import { checkIssuedSize } from '../deploy/target/answers.ts'
import { requestToken } from '../deploy/target/service-account.ts'
import type { KubeconfigCache } from './kubeconfig-cache.ts'
import type { TargetAccess, TargetCluster } from '../deploy/target/target-cluster.ts'
import { isObjectName } from '../deploy/target/target-config.ts'

const OPERATION = 'IssueKubeconfig'
const REQUEST_TIMEOUT_MS = 15_000

export interface IssuerDeps {
  readonly targets: TargetAccess
  readonly now: () => Date
  readonly cache: KubeconfigCache
}

/** @param job whose templates request kubeconfigs. */
export function kubeconfigIssuer(deps: IssuerDeps, { namespace, signal }: Tenant, job: string): KubeconfigSource {
  return {
    async issue({ key, ask }) {
      try {
        const until = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
        const limit = signal === undefined ? until : AbortSignal.any([signal, until])
        const cluster = await deps.targets.open(namespace, ask.target, limit)
        const whose = { cluster, of: [job, key], nowMs: deps.now().getTime() }
        return await deps.cache.getOrIssue(whose, () => issueFrom(cluster, ask, limit))
      } catch (error) {
        if (signal?.aborted === true) throw error
        throw asFailure(describeRequest(ask), error)
      }
    },
  }
}

async function issueFrom(cluster: TargetCluster, ask: KubeconfigSpec, signal: AbortSignal): Promise<IssuedKubeconfig> {
  const { kube } = cluster
  switch (ask.kind) {
    case 'oidc':
      return { kubeconfig: inBase64(oidcKubeconfig(kube.connection, ask)), expiresAt: '' }
    case 'serviceAccount': {
      const { token, expiresAt } = await requestToken(kube, accountOf(ask), signal)
      const access: ClusterAccess = { ...kube.connection, credentials: { token } }
      // TargetSync finds the account whose token it renews by this name.
      return { kubeconfig: inBase64(formatKubeconfig(access, { user: ask.name })), expiresAt }
    }
    case 'shoot': {
      const { kubeconfig, expiresAt } = await requestShootAccess(kube, accountOf(ask), signal)
      return { kubeconfig: inBase64(kubeconfig), expiresAt }
    }
  }
}

function accountOf({ name, namespace, expirationSeconds }: TokenSpec) {
  for (const [field, text] of Object.entries({ name, namespace })) {
    if (isObjectName(text)) continue
    throw configurationProblem(
      OPERATION,
      'KubeconfigNotIssued',
      `${field}: not an object name; expected lower-case letters, digits, dots and dashes`,
    )
  }
  return { name, namespace, expirationSeconds }
}

// Source: spec/landscaper.md 3.7 `getOidcKubeconfig`; arguments of kubelogin.
function oidcKubeconfig(
  connection: Omit<ClusterAccess, 'credentials'>,
  { issuerURL, clientID }: Extract<KubeconfigSpec, { kind: 'oidc' }>,
): string {
  const scopes = ['email', 'profile', 'offline_access'].map((scope) => `--oidc-extra-scope=${scope}`)
  const args = [
    ...['oidc-login', 'get-token', `--oidc-issuer-url=${issuerURL}`, `--oidc-client-id=${clientID}`],
    ...[...scopes, '--oidc-use-pkce', '--grant-type=auto'],
  ]
  const exec = { apiVersion: 'client.authentication.k8s.io/v1beta1', command: 'kubectl', args }
  return formatKubeconfig({ ...connection, credentials: {} }, { fields: { exec } })
}

/** The kubeconfig contains data of the Target, such as a CA, and may be large. */
function inBase64(text: string): string {
  checkIssuedSize('kubeconfig', text)
  return Buffer.from(text, 'utf8').toString('base64')
}

function describeRequest(ask: KubeconfigSpec): string {
  const by = `by target ${shown(ask.target)}`
  if (ask.kind === 'oidc') return `kubeconfig with OIDC ${by}`
  const of = ask.kind === 'shoot' ? 'Shoot' : 'service account'
  return `kubeconfig of ${of} ${shown(ask.namespace)}/${shown(ask.name)} ${by}`
}

/** A template may pass any text as a name. */
function shown(name: string): string {
  return isObjectName(name) ? name : '(no name of an object)'
}

// These answers are mistakes of the author; other failures are retried.
const AUTHOR_STATUSES = new Set([400, 403, 404, 405, 415, 422])

function asFailure(what: string, error: unknown): unknown {
  if (!(error instanceof KubeError) && !(error instanceof DeployError)) {
    const isOver = error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError')
    return isOver ? retryableFailure('TargetUnavailable', `${what}: no answer in time; Pawl retries`) : error
  }
  const isAnswered = error instanceof KubeError && AUTHOR_STATUSES.has(error.status)
  const { reason, message, isFinal } = toDeployError(OPERATION, error)
  if (isAnswered) return finalFailure('KubeconfigNotIssued', `${what}: ${message}`)
  if (isFinal) return finalFailure(reason, `${what}: ${message}`)
  return retryableFailure('TargetUnavailable', `${what}: ${message}`)
}
