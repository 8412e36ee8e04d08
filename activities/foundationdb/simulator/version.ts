// The version that an executable of the simulator reports, and its wire protocol.

/** The version of the recordings. */
export const DEFAULT_VERSION = '7.1.67'

const PROTOCOLS: Readonly<Record<string, string>> = {
  '6.2': 'fdb00b062010001',
  '6.3': 'fdb00b063010000',
  '7.1': 'fdb00b071010000',
  '7.3': 'fdb00b073000000',
  '7.4': 'fdb00b074000000',
}

/** Processes and clients of different protocols do not talk to each other. */
export function protocolOf(version: string): string {
  const minor = /^\d+\.\d+/.exec(version)?.[0] ?? version
  return PROTOCOLS[minor] ?? `fdb00b0${minor.replace('.', '')}000000`
}

/** The output of `--version`. */
export function versionText(product: string, version: string): string {
  const minor = /^\d+\.\d+/.exec(version)?.[0] ?? version
  return `${product} ${minor} (v${version})\nsource version ${'0'.repeat(40)}\nprotocol ${protocolOf(version)}\n`
}
