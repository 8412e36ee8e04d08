// The help of `pawl fdb-sidecar`.

const OPTIONS: readonly (readonly [flag: string, text: string])[] = [
  ['--root <folder>', 'replaces the root folder (default: /)'],
  ['--pod-ip <address>', 'address of the pod, if no variable has it'],
  ['--own-version <version>', "version of the sidecar's image"],
  ['--bind-address <address:port>', 'where it listens (default: pod, 8080)'],
  ['--init-mode', 'copy the files, and end'],
  ['--input-dir <folder>', 'files of the ConfigMap (default: /var/input-files)'],
  ['--output-dir <folder>', 'files for the main container (default: /var/output-files)'],
  ['--main-container-conf-dir <folder>', 'its name in the main container'],
  ['--main-container-version <version>', 'for other versions it copies programs'],
  ['--public-ip-family <4-or-6>', 'family of the address to use: 4 or 6'],
  ['--input-monitor-conf <file>', 'configuration of fdbmonitor, with variables'],
  ['--copy-file <file>', 'a file to copy; repeatable'],
  ['--copy-binary <file>', 'a program to copy; repeatable'],
  ['--copy-library <version>', 'a client library to copy; repeatable'],
  ['--require-not-empty <file>', 'a file that must have content; repeatable'],
  ['--substitute-variable <name>', 'a further variable of the configuration; repeatable'],
  ['--tls', 'serve HTTPS'],
  ['--tls-certificate-file <file>', 'certificate (default: $FDB_TLS_CERTIFICATE_FILE)'],
  ['--tls-key-file <file>', 'key (default: $FDB_TLS_KEY_FILE)'],
  ['--tls-ca-file <file>', 'certificate authority (default: $FDB_TLS_CA_FILE)'],
  ['--tls-verify-peers <rules>', 'rules for client certificates (default: $FDB_TLS_VERIFY_PEERS)'],
]

const WIDTH = 36

/** Fits on a screen. */
export const USAGE = `Usage: pawl fdb-sidecar [flags]

Copies the configuration of a FoundationDB process, and confirms it over HTTP.

Options:
${OPTIONS.map(([flag, text]) => `  ${flag.padEnd(WIDTH)}  ${text}`).join('\n')}

Examples:
  pawl fdb-sidecar --root pod --copy-file fdb.cluster --init-mode
`
