// A table of unusable Targets, with the errors of the items that use them. Source: spec/landscaper.md 1.5, 4.6.

import type { ExpectedFailure } from './bad-input.ts'
import { TARGET_TYPE } from './manifests.ts'

/** A cluster in a kubeconfig. */
export interface KubeconfigCluster {
  readonly server: string
  readonly 'certificate-authority-data': string
}

/** A kubeconfig of the test's cluster, with other fields. */
function kubeconfig(cluster: KubeconfigCluster, user: object = { token: 'expired' }) {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'c', user }],
  }
}

const off = (...says: ExpectedFailure['says']): ExpectedFailure => ({
  reason: 'InvalidTarget',
  says,
  codes: ['ERR_CONFIGURATION_PROBLEM'],
})
const notAllowed = (...says: ExpectedFailure['says']): ExpectedFailure => ({
  reason: 'TargetNotAllowed',
  codes: ['ERR_CONFIGURATION_PROBLEM'],
  says: ['Target "bad-input/', ...says],
})
function target(config: object) {
  return { type: TARGET_TYPE, config: { kubeconfig: config } }
}

export const BAD_TARGETS: readonly [
  title: string,
  spec: (cluster: KubeconfigCluster) => object,
  ending: ExpectedFailure,
  timeout?: string,
][] = [
  [
    'with a bomb in its Secret',
    () => ({ type: TARGET_TYPE, secretRef: { name: 'kubeconfigs', key: 'bomb' } }),
    off('Secret "bad-input/kubeconfigs", key "bomb": ', 'found aliases that expand to'),
  ],
  [
    'that runs a program',
    (cluster) => target(kubeconfig(cluster, { exec: { command: 'id' } })),
    off('users[0].user.exec: found a value; expected a token, a client certificate or a password'),
  ],
  [
    'whose credentials have expired',
    (cluster) => target(kubeconfig(cluster)),
    {
      reason: 'Unauthorized',
      codes: ['ERR_UNAUTHORIZED'],
      says: [
        'Target "bad-input/target-whose-credentials-have-expired": the server rejects the credentials (',
        '401',
        'renew them',
      ],
    },
  ],
  [
    'whose server answers not',
    () => target(kubeconfig({ server: 'https://127.0.0.1:1', 'insecure-skip-tls-verify': true } as never)),
    { reason: 'ProgressingTimeout', says: ['no answer from the target', 'ECONNREFUSED'] },
    '6s',
  ],
  [
    'whose server nobody vouches for',
    ({ server }) => target(kubeconfig({ server } as never)),
    { reason: 'UntrustedServer', says: ['not trusted'] },
  ],
  [
    'that leads to the machine of the worker',
    (cluster) => target(kubeconfig({ ...cluster, server: 'https://127.0.0.2:6443' })),
    notAllowed(
      'server https://127.0.0.2:6443 has the address 127.0.0.2, a loopback address; use another server',
      'let the operator add 127.0.0.2:6443 to --target-allow of the worker',
    ),
  ],
  [
    'that leads to the metadata of a cloud',
    () => target(kubeconfig({ server: 'https://169.254.169.254', 'insecure-skip-tls-verify': true } as never)),
    notAllowed('server https://169.254.169.254 has the address 169.254.169.254, a link-local address'),
  ],
  [
    'without TLS',
    () => target(kubeconfig({ server: 'http://10.0.0.1:8080' } as never)),
    notAllowed(
      'server http://10.0.0.1:8080 does not use TLS; use https, or let the operator add 10.0.0.1:8080 to --target-allow of the worker',
    ),
  ],
  [
    'whose account may nothing',
    () => ({ type: TARGET_TYPE, config: { selfConfig: { serviceAccount: { name: 'default' } } } }),
    { reason: 'ProgressingTimeout', says: ['403 Forbidden', 'ConfigMap "bad-input/'] },
    '6s',
  ],
]
