package pytorch_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// leaves has the agent note in a store that its torchrun has gone, with what stands in for PyTorch.
const leaves = `
import base64, dataclasses, datetime, itertools, os, pickle, socket, sys, types

module = types.ModuleType("torch.distributed.elastic.rendezvous.dynamic_rendezvous")
module.os = os

@dataclasses.dataclass(eq=True, order=True, frozen=True)
class _NodeDesc:
    addr: str
    pid: int
    local_id: int

class _RendezvousState:
    def __init__(self):
        self.round, self.complete, self.deadline, self.closed = 1, True, None, False
        self.participants, self.wait_list, self.redundancy_list, self.last_heartbeats = {}, set(), set(), {}

for c in (_NodeDesc, _RendezvousState):
    c.__module__ = module.__name__
    c.__qualname__ = c.__name__
    setattr(module, c.__name__, c)

class TCPStore:
    def __init__(self, *args, **options): pass
    def get(self, key): return self.noted
    def compare_set(self, key, before, after):
        TCPStore.noted = after.encode()
        return TCPStore.noted

distributed = types.ModuleType("torch.distributed")
distributed.TCPStore = TCPStore
for m in (types.ModuleType("torch"), distributed, types.ModuleType("torch.distributed.elastic"), types.ModuleType("torch.distributed.elastic.rendezvous"), module):
    sys.modules[m.__name__] = m

agent = {}
exec(open(sys.argv[1]).read().removesuffix("main()\n"), agent)

def leave():
    agent["leave"]("host", 1, ["torchrun", "--rdzv_id=job"], 7)

ours, other = _NodeDesc(socket.getfqdn(), 7, 0), _NodeDesc("elsewhere", 7, 0)
# Before PyTorch 2.6 the times have no zone. Python cannot compare the two kinds.
for zone, protocol in itertools.product((datetime.timezone.utc, None), range(3, pickle.HIGHEST_PROTOCOL + 1)):
    now = datetime.datetime.now(zone)
    state = _RendezvousState()
    state.participants, state.wait_list, state.last_heartbeats = {ours: 0, other: 1}, {other}, {ours: now, other: now}
    TCPStore.noted = base64.b64encode(pickle.dumps(state, protocol))
    leave()
    left = pickle.loads(base64.b64decode(TCPStore.noted))
    assert left.last_heartbeats[other] == now, (protocol, left.last_heartbeats)
    assert left.last_heartbeats[ours] < now, (protocol, left.last_heartbeats)
    assert left.last_heartbeats[ours].year == 1970, (protocol, left.last_heartbeats)
    assert left.wait_list == {other}, protocol

class Calls:
    def __reduce__(self): return os.mkdir, (sys.argv[2],)

by_module = b"\x80\x04\x8c" + bytes([len(module.__name__)]) + module.__name__.encode() + b"\x8c\x08os.mkdir\x93\x8c" + bytes([len(sys.argv[2])]) + sys.argv[2].encode() + b"\x85R."
for hostile in (pickle.dumps(Calls()), by_module):
    TCPStore.noted = base64.b64encode(hostile)
    try:
        leave()
    except pickle.UnpicklingError:
        continue
    raise SystemExit("a call was taken")
`

// Whoever reaches the store can write there, and what is read from a pickle may call anything.
func TestTheAgentTakesNothingFromTheStoreButWhoIsThere(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 on this machine")
	}
	called := filepath.Join(t.TempDir(), "called")
	text, err := exec.CommandContext(t.Context(), python, "-c", leaves, filepath.Join("scripts", "agent.py"), called).CombinedOutput()
	require.NoError(t, err, "%s", text)
	require.NoFileExists(t, called)
}
