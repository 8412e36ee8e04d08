// The declaration of pods that run the commands of their containers (`pawl node-agent --pods`).

export const pods = {
  labels: ['pawl.dev/node-agent'],
  flags: {},
  load: async () => ({
    open: async (_, { env: { PATH } }) => ({
      process: async ({ command: [program, ...args], env, podIP, root }) => ({
        argv: [program === 'node' ? process.execPath : program, ...args],
        env: { PATH, ROOT: root, POD_IP: podIP, ...env },
      }),
      probeCommand: (command, { outside }) => [...command.slice(0, -1), outside(command.at(-1))],
    }),
  }),
}
