// The child that answers questions about names.

import { anyText, Flags } from '../../../../workflows/chaos/injector/flags.ts'
import { whole } from '../../../../workflows/chaos/grammar.ts'
import { dnsRecords } from '../../../../workflows/chaos/injector/grammars.ts'
import type { ProgramStart } from '../../../program.ts'
import { childFlags, parentEnded } from '../stress/child.ts'
import { startResponder } from './responder.ts'

/** `dns-responder --records R --udp-port P --tcp-port P --upstream ADDRESS:PORT`: lives until its parent does not. */
export async function runResponder({ args, print }: ProgramStart): Promise<number> {
  const flags = new Flags(args)
  const settings = {
    records: flags.required('records', dnsRecords, []),
    udpPort: flags.optional('udp-port', whole(1, 65535)),
    tcpPort: flags.optional('tcp-port', whole(1, 65535)),
    upstreams: flags.every('upstream', anyText),
  }
  const child = childFlags(flags)
  flags.refuseUnknown()
  if (flags.problems.length > 0) throw new Error(flags.problems.join('; '))
  const { close } = await startResponder(settings)
  print('ready\n')
  await parentEnded(child)
  await close()
  return 0
}
