// Specs by which a tenant could write lines, options or commands, or reach beyond its namespace. The webhook and the passes must reject them.

const GENERAL = 'spec.processes.general'
const TEMPLATE = `${GENERAL}.podTemplate`
const PEER_RULES = { peerVerificationRules: 'a\ncommand = /bin/sh' }
const PRIVILEGED = { name: 'foundationdb', securityContext: { privileged: true } }
const general = (settings: object) => ({ processes: { general: settings } })
const podSpec = (spec: object) => general({ podTemplate: { spec } })
const parameter = (text: string) => general({ customParameters: [text] })

/** Rows of an attack, the field that the rules name, and a spec that the schema of the CRD accepts. */
export const HOSTILE_CLUSTERS: readonly (readonly [string, string, object])[] = [
  ['a line of a configuration', `${GENERAL}.customParameters[0]`, parameter('knob_a=1\ncommand = /bin/sh')],
  ['a second command', `${GENERAL}.customParameters[0]`, parameter('knob_a=1; kill')],
  ['an option', `${GENERAL}.customParameters[0]`, parameter('-C=/etc/passwd')],
  ['another cluster file', `${GENERAL}.customParameters[0]`, parameter('cluster_file=/tmp/of-the-neighbour')],
  ['a shell command', 'spec.logGroup', { logGroup: 'a; touch /tmp/x' }],
  ['an option as log group', 'spec.logGroup', { logGroup: '--loggroup' }],
  ['an option of the sidecar', 'spec.sidecarVariables[0]', { sidecarVariables: ['--tls'] }],
  ['a line of peer rules', 'spec.mainContainer.peerVerificationRules', { mainContainer: PEER_RULES }],
  ['a path of the Node', `${TEMPLATE}.spec.volumes[0]`, podSpec({ volumes: [{ name: 'a', hostPath: { path: '/' } }] })],
  ['the network of the Node', `${TEMPLATE}.spec.hostNetwork`, podSpec({ hostNetwork: true })],
  [
    'a privileged container',
    `${TEMPLATE}.spec.containers[0].securityContext.privileged`,
    podSpec({ containers: [PRIVILEGED] }),
  ],
  [
    'a Pod in another namespace',
    `${TEMPLATE}.metadata.namespace`,
    general({ podTemplate: { metadata: { namespace: 'shop' } } }),
  ],
  [
    'words after a connection string',
    'spec.seedConnectionString',
    { seedConnectionString: 'a:b@127.0.0.1:4501 --exec' },
  ],
]

/** The same for backups. */
export const HOSTILE_BACKUPS: readonly (readonly [string, string, object])[] = [
  [
    'a secret in a URL',
    'spec.blobStoreConfiguration.accountName',
    { blobStoreConfiguration: { accountName: 'user:secret@host' } },
  ],
  ['an option of fdbbackup', 'spec.customParameters[0]', { customParameters: ['--tag=other'] }],
  ['a cluster of another namespace', 'spec.clusterName', { clusterName: 'shop/sample' }],
]
