// Help of the simulated fdbcli. It lists the commands and topics of fdbcli 7.1; the texts are shorter.
// Source of the list: fdb-recordings 00/003, 05/008..024, 19/037.

/** Usage and summary by command. */
export const COMMAND_HELP: Readonly<Record<string, readonly [usage: string, summary: string]>> = {
  advanceversion: ['advanceversion <VERSION>', 'recovers the cluster at a given version'],
  begin: ['begin', 'starts a transaction'],
  cache_range: ['cache_range <set|clear> <BEGINKEY> <ENDKEY>', 'adds a key range to storage caches, or removes it'],
  clear: ['clear <KEY>', 'removes a key'],
  clearrange: ['clearrange <BEGINKEY> <ENDKEY>', 'removes a range of keys'],
  commit: ['commit', 'commits the transaction'],
  configure: ['configure [new] <mode|engine|NAME=VALUE...>', 'changes the configuration, or creates the database'],
  consistencycheck: ['consistencycheck [on|off]', 'shows or sets whether consistency checks may run'],
  coordinators: ['coordinators auto|<ADDRESS>+ [description=NAME]', 'shows or changes the coordinators'],
  createtenant: ['createtenant <TENANT_NAME>', 'creates a tenant'],
  defaulttenant: ['defaulttenant', 'uses no tenant in transactions'],
  deletetenant: ['deletetenant <TENANT_NAME>', 'deletes an empty tenant'],
  exclude: ['exclude [FORCE] [failed] [no_wait] [<ADDRESS...>] [locality_<KEY>:<VALUE>]', 'moves data and roles away'],
  exit: ['exit', 'ends fdbcli'],
  fileconfigure: ['fileconfigure [new] <FILENAME>', 'configures from a JSON file'],
  force_recovery_with_data_loss: ['force_recovery_with_data_loss <DCID>', 'recovers in one data centre'],
  get: ['get <KEY>', 'reads a key'],
  getrange: ['getrange <BEGINKEY> [ENDKEY] [LIMIT]', 'reads keys and values of a range'],
  getrangekeys: ['getrangekeys <BEGINKEY> [ENDKEY] [LIMIT]', 'reads keys of a range'],
  gettenant: ['gettenant <TENANT_NAME>', 'shows a tenant'],
  getversion: ['getversion', 'shows the current read version'],
  help: ['help [<topic>]', 'shows help'],
  include: ['include all|<ADDRESS...>|locality_<KEY>:<VALUE>', 'removes exclusions'],
  kill: ['kill all|list|<ADDRESS...>', 'lists processes, or lets them exit'],
  listtenants: ['listtenants', 'lists tenants'],
  lock: ['lock', 'locks the database with a random UID'],
  maintenance: ['maintenance [on|off] [ZONEID] [SECONDS]', 'shows, sets or ends the maintenance of a zone'],
  option: ['option <STATE> <OPTION> <ARG>', 'sets a transaction option'],
  profile: ['profile <client|list> <action> <ARGS>', 'shows profiling settings'],
  redistribute: ['redistribute <BEGINKEY> <ENDKEY>', 'distributes a range again'],
  reset: ['reset', 'starts the transaction again'],
  rollback: ['rollback', 'discards the transaction'],
  set: ['set <KEY> <VALUE>', 'writes a key'],
  setclass: ['setclass [<ADDRESS> <CLASS>]', 'shows or changes classes of processes'],
  sleep: ['sleep <SECONDS>', 'waits'],
  status: ['status [minimal|details|json]', 'shows the state of the cluster'],
  suspend: ['suspend <SECONDS> <ADDRESS...>', 'suspends processes'],
  throttle: ['throttle <on|off|enable auto|disable auto|list> [ARGS]', 'shows throttled tags'],
  triggerddteaminfolog: ['triggerddteaminfolog', 'logs the teams of the data distributor'],
  tssq: ['tssq start|stop <StorageUID>', 'quarantines a testing storage server'],
  unlock: ['unlock <UID>', 'unlocks the database; asks for a passphrase'],
  usetenant: ['usetenant <TENANT_NAME>', 'uses a tenant in transactions'],
  versionepoch: ['versionepoch', 'shows the version epoch'],
  writemode: ['writemode <on|off>', 'allows or forbids writes'],
}

const TOPICS: Readonly<Record<string, string>> = {
  escaping:
    'Words end at blanks. Quote them ("a b"), or write \\ before a blank or a quotation mark, or \\xNN for a byte.',
  options: 'Options of `option on NAME`: ACCESS_SYSTEM_KEYS, READ_SYSTEM_KEYS, LOCK_AWARE and others.',
}

export function helpText(topic: string | undefined): string {
  if (topic === undefined) {
    const lines = Object.entries(COMMAND_HELP).map(([name, [, summary]]) => ` ${name}:\n      ${summary}\n`)
    return `\nList of commands:\n\n${lines.join('')}\nFor information on a specific command, type \`help <command>'.\n\n`
  }
  const known = COMMAND_HELP[topic]
  if (known !== undefined) return `\n${known[0]}\n\n${known[1]}\n\n`
  const text = TOPICS[topic]
  return text === undefined ? `I don't know anything about \`${topic}'\n` : `\n${text}\n\n`
}

export const USAGE_TEXT = `FoundationDB CLI 7.1 (v7.1.67)
usage: fdbcli [OPTIONS]

  -C CONNFILE    The cluster file. Default: FDB_CLUSTER_FILE, then ./fdb.cluster,
                 then /etc/foundationdb/fdb.cluster.
  --exec CMDS    Runs the commands, separated by semicolons, and exits.
  --timeout SECONDS
                 Ends after this time; only with --exec.
  --no-status    Does not show the status at the start.
  --log, --log-dir PATH, --log-group GROUP, --trace-format FORMAT
                 Accepted; the simulator writes no trace files.
  --tls-certificate-file FILE, --tls-key-file FILE, --tls-ca-file FILE
                 Needed for addresses with :tls.
  -v, --version  Prints the version and exits.
  -h, --help     Prints this text and exits.
`
