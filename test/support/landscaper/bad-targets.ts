// A table of unusable Targets, with the errors of the items that use them. Source: spec/landscaper.md 1.5, 4.6.

import { BOMB, type ExpectedFailure } from './bad-input.ts'
import { TARGET_TYPE } from './manifests.ts'

/** A cluster in a kubeconfig. */
export interface KubeconfigCluster {
  readonly server: string
  readonly 'certificate-authority-data': string
}

/** A kubeconfig of the test's cluster, with other fields. */
function kubeconfig(
  cluster: KubeconfigCluster,
  { user = { token: 'expired' }, more = {} }: { user?: object; more?: object } = {},
) {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'c', user }],
    ...more,
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
  says: ['target bad-deploy/', ...says],
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
    'of another type',
    () => ({ type: 'example.org/cluster', config: {} }),
    off('target bad-deploy/', 'spec.type is another type', TARGET_TYPE),
  ],
  ['without a configuration', () => ({ type: TARGET_TYPE }), off('spec has neither config nor secretRef')],
  [
    'with two configurations',
    () => ({ type: TARGET_TYPE, config: {}, secretRef: { name: 'kubeconfigs' } }),
    off('spec has both config and secretRef'),
  ],
  [
    'whose Secret is missing',
    () => ({ type: TARGET_TYPE, secretRef: { name: 'nowhere' } }),
    off('secret bad-deploy/nowhere is not there'),
  ],
  [
    'whose key is missing',
    () => ({ type: TARGET_TYPE, secretRef: { name: 'kubeconfigs', key: 'other' } }),
    off('secret bad-deploy/kubeconfigs, key other is absent'),
  ],
  ['of rubbish', () => ({ type: TARGET_TYPE, config: { kubeconfig: 'rubbish' } }), off('spec.config.kubeconfig is a')],
  [
    'of broken YAML',
    () => ({ type: TARGET_TYPE, config: { kubeconfig: 'a: [b' } }),
    off('spec.config.kubeconfig is a text that is not YAML'),
  ],
  [
    'with a bomb of aliases',
    () => ({ type: TARGET_TYPE, config: { kubeconfig: BOMB } }),
    off('spec.config.kubeconfig is a text that cannot be read (found aliases that expand to'),
  ],
  [
    'with a bomb in its Secret',
    () => ({ type: TARGET_TYPE, secretRef: { name: 'kubeconfigs', key: 'bomb' } }),
    off('key bomb', 'found aliases that expand to'),
  ],
  [
    'without a context',
    (cluster) => target(kubeconfig(cluster, { more: { 'current-context': '' } })),
    off('kubeconfig.current-context is absent'),
  ],
  [
    'with a context that is not there',
    (cluster) => target(kubeconfig(cluster, { more: { contexts: [] } })),
    off('kubeconfig.contexts is without the context'),
  ],
  [
    'that runs a program',
    (cluster) => target(kubeconfig(cluster, { user: { exec: { command: 'id' } } })),
    off('users[0].user.exec is set; expected a token'),
  ],
  [
    'that reads a file',
    (cluster) => target(kubeconfig(cluster, { user: { tokenFile: '/etc/passwd' } })),
    off('users[0].user.tokenFile is set'),
  ],
  [
    'that reads a CA from a file',
    ({ server }) => target(kubeconfig({ server, 'certificate-authority': '/etc/passwd' } as never)),
    off('clusters[0].cluster.certificate-authority is set'),
  ],
  [
    'that acts as somebody else',
    (cluster) => target(kubeconfig(cluster, { user: { token: 'x', as: 'admin' } })),
    off('users[0].user.as is set'),
  ],
  [
    'whose credentials have expired',
    (cluster) => target(kubeconfig(cluster)),
    {
      reason: 'Unauthorized',
      codes: ['ERR_UNAUTHORIZED'],
      says: ['target bad-deploy/target-whose-credentials-have-expired: its server refuses the credentials', '401'],
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
    notAllowed('https://127.0.0.2:6443 is at 127.0.0.2, a loopback address', '127.0.0.2:6443 in --target-allow'),
  ],
  [
    'that leads to the machine of the worker by a name',
    (cluster) => target(kubeconfig({ ...cluster, server: 'https://localhost:6443' })),
    notAllowed('https://localhost:6443 is at ', 'a loopback address', 'localhost:6443 in --target-allow of the worker'),
  ],
  [
    'that leads to the metadata of a cloud',
    () => target(kubeconfig({ server: 'https://169.254.169.254', 'insecure-skip-tls-verify': true } as never)),
    notAllowed('https://169.254.169.254 is at 169.254.169.254, a link-local address'),
  ],
  [
    'without TLS',
    () => target(kubeconfig({ server: 'http://10.0.0.1:8080' } as never)),
    notAllowed('http://10.0.0.1:8080 is spoken to without TLS; expected https, or 10.0.0.1:8080 in --target-allow'),
  ],
  [
    'whose account is not there',
    () => ({ type: TARGET_TYPE, config: { selfConfig: { serviceAccount: { name: 'nobody' } } } }),
    off('service account bad-deploy/nobody is not there'),
  ],
  [
    'whose account may nothing',
    () => ({ type: TARGET_TYPE, config: { selfConfig: { serviceAccount: { name: 'default' } } } }),
    { reason: 'ProgressingTimeout', says: ['403 Forbidden', 'ConfigMap bad-deploy/'] },
    '6s',
  ],
]
