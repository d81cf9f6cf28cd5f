package control

// The endpoints, by name. P → R is parameters → result; E is the event of a stream.
//
//	status                  StatusParams → Status
//	doctor                  DoctorParams → Doctor
//	id                      IDParams → ID
//	config                  ConfigParams → Settings           what the node runs with
//	cmd                     CmdParams → CmdResult             one slash command on a session
//	peers.list              PeersListParams → List[Peer]
//	peers.pair.start        PairStartParams → PairTicket      a ticket for one other machine of mine
//	peers.pair.wait         PairWaitParams → Pairing          until the other has come and words are known
//	peers.pair.join         PairJoinParams → Pairing          the other side: the ticket is redeemed
//	peers.pair.confirm      PairConfirmParams → Pairing       both sides said that the words are equal
//	peers.pending           PendingParams → List[JoinRequest]
//	peers.approve           ApproveParams → JoinRequest
//	peers.reject            RejectParams → JoinRequest
//	peers.name              PeerNameParams → Peer
//	peers.pause             PeerParams → Peer
//	peers.resume            PeerParams → Peer
//	session.new             SessionNewParams → Created
//	session.list            SessionListParams → List[SessionSummary]
//	session.show            SessionShowParams → SessionShow
//	session.post            SessionPostParams → Created       after the durable commit
//	session.post.file       SessionPostParams + file → Progress… → Created   the file is the text, up to 64 MiB
//	session.log             SessionLogParams → Entry… → LogEnd
//	session.search          SessionSearchParams → List[Hit]
//	session.wait            SessionWaitParams → Waited
//	session.import          SessionImportParams + file → Progress… → Imported
//	session.export          SessionExportParams → Chunk… → Exported
//	session.share           SessionShareParams → Ticket
//	session.tickets         SessionParams → List[TicketInfo]
//	session.tickets.revoke  SessionTicketParams → TicketInfo
//	session.join            JoinParams → Joined
//	session.attach          AttachParams → Attached
//	session.detach          AttachParams → Attached
//	session.host            AttachParams → Attached           no agent: clears the host
//	session.close           SessionParams → SessionSummary
//	session.forget          SessionForgetParams → Forgotten
//	agent.new               AgentNewParams → Created
//	agent.list              AgentListParams → List[AgentSummary]
//	agent.show              AgentParams → AgentShow
//	agent.set               AgentSetParams → AgentShow
//	agent.share             AgentShareParams → Ticket
//	agent.tickets           AgentParams → List[TicketInfo]
//	agent.tickets.revoke    AgentTicketParams → TicketInfo
//	agent.join              JoinParams → Joined
//	agent.invite            AgentInviteParams → Invited
//	agent.forget            AgentForgetParams → Forgotten
//	secret.set              SecretSetParams → SecretInfo
//	secret.list             SecretListParams → List[SecretInfo]
//	secret.rm               SecretParams → SecretInfo
//	tool.list               ToolListParams → List[Tool]
//	tool.describe           ToolParams → Tool
//	tool.call               ToolCallParams → ToolCalled
//	context                 ContextParams → TurnContext
//	routine.list            RoutineListParams → List[Routine]
//	routine.add             RoutineAddParams → Routine
//	routine.remove          RoutineParams → Routine
//	routine.run             RoutineParams → Routine          fires once, now
//	ext.pack                ExtPackParams → ExtPacked        a folder or module into the block store
//	ext.publish             ExtPublishParams → ExtPublished
//	ext.yank                ExtYankParams → ExtRelease
//	ext.releases            ExtReleasesParams → List[ExtRelease]
//	ext.show                ExtShowParams → Progress… → ExtCard     what a person decides on
//	ext.pending             ExtPendingParams → List[ExtPending]
//	ext.trust               ExtTrustParams → Progress… → ExtTrusted
//	ext.deny                ExtDecideParams → ExtAffected
//	ext.untrust             ExtDecideParams → ExtAffected    running instances end at once
//	ext.list                ExtListParams → List[ExtHere]
//	ext.export              ExtExportParams → Chunk… → ExtExported
//	ext.import              ExtImportParams + file → Progress… → ExtImported
//	ext.audit               ExtAuditParams → List[ExtEvent]  newest last
//	ext.gc                  ExtGCParams → ExtCollected
//	ext.logs                ExtLogsParams → List[ExtLogLine]
//
// A reference to a document, a peer, a ticket or a request is its id, a unique prefix of it of at
// least 8 characters, or its local name; one that fits several things is [CodeAmbiguous] with the
// candidates. Durations are milliseconds in fields that end in _ms. Times are [Time].
var (
	GetStatus = Endpoint[StatusParams, Status]{"status"}
	RunDoctor = Endpoint[DoctorParams, Doctor]{"doctor"}
	GetID     = Endpoint[IDParams, ID]{"id"}
	GetConfig = Endpoint[ConfigParams, Settings]{"config"}
	RunCmd    = Endpoint[CmdParams, CmdResult]{"cmd"}

	PeersList        = Endpoint[PeersListParams, List[Peer]]{"peers.list"}
	PeersPairStart   = Endpoint[PairStartParams, PairTicket]{"peers.pair.start"}
	PeersPairWait    = Endpoint[PairWaitParams, Pairing]{"peers.pair.wait"}
	PeersPairJoin    = Endpoint[PairJoinParams, Pairing]{"peers.pair.join"}
	PeersPairConfirm = Endpoint[PairConfirmParams, Pairing]{"peers.pair.confirm"}
	PeersPending     = Endpoint[PendingParams, List[JoinRequest]]{"peers.pending"}
	PeersApprove     = Endpoint[ApproveParams, JoinRequest]{"peers.approve"}
	PeersReject      = Endpoint[RejectParams, JoinRequest]{"peers.reject"}
	PeersName        = Endpoint[PeerNameParams, Peer]{"peers.name"}
	PeersPause       = Endpoint[PeerParams, Peer]{"peers.pause"}
	PeersResume      = Endpoint[PeerParams, Peer]{"peers.resume"}

	SessionNew           = Endpoint[SessionNewParams, Created]{"session.new"}
	SessionList          = Endpoint[SessionListParams, List[SessionSummary]]{"session.list"}
	SessionDetails       = Endpoint[SessionShowParams, SessionShow]{"session.show"}
	SessionPost          = Endpoint[SessionPostParams, Created]{"session.post"}
	SessionPostFile      = StreamEndpoint[SessionPostParams, Progress, Created]{name: "session.post.file", uploads: 64 << 20}
	SessionLog           = StreamEndpoint[SessionLogParams, Entry, LogEnd]{name: "session.log"}
	SessionSearch        = Endpoint[SessionSearchParams, List[Hit]]{"session.search"}
	SessionWait          = Endpoint[SessionWaitParams, Waited]{"session.wait"}
	SessionImport        = StreamEndpoint[SessionImportParams, Progress, Imported]{name: "session.import", uploads: 4 << 30}
	SessionExport        = StreamEndpoint[SessionExportParams, Chunk, Exported]{name: "session.export"}
	SessionShare         = Endpoint[SessionShareParams, Ticket]{"session.share"}
	SessionTickets       = Endpoint[SessionParams, List[TicketInfo]]{"session.tickets"}
	SessionTicketsRevoke = Endpoint[SessionTicketParams, TicketInfo]{"session.tickets.revoke"}
	SessionJoin          = Endpoint[JoinParams, Joined]{"session.join"}
	SessionAttach        = Endpoint[AttachParams, Attached]{"session.attach"}
	SessionDetach        = Endpoint[AttachParams, Attached]{"session.detach"}
	SessionHost          = Endpoint[AttachParams, Attached]{"session.host"}
	SessionClose         = Endpoint[SessionParams, SessionSummary]{"session.close"}
	SessionForget        = Endpoint[SessionForgetParams, Forgotten]{"session.forget"}

	AgentNew           = Endpoint[AgentNewParams, Created]{"agent.new"}
	AgentList          = Endpoint[AgentListParams, List[AgentSummary]]{"agent.list"}
	AgentDetails       = Endpoint[AgentParams, AgentShow]{"agent.show"}
	AgentSet           = Endpoint[AgentSetParams, AgentShow]{"agent.set"}
	AgentShare         = Endpoint[AgentShareParams, Ticket]{"agent.share"}
	AgentTickets       = Endpoint[AgentParams, List[TicketInfo]]{"agent.tickets"}
	AgentTicketsRevoke = Endpoint[AgentTicketParams, TicketInfo]{"agent.tickets.revoke"}
	AgentJoin          = Endpoint[JoinParams, Joined]{"agent.join"}
	AgentInvite        = Endpoint[AgentInviteParams, Invited]{"agent.invite"}
	AgentForget        = Endpoint[AgentForgetParams, Forgotten]{"agent.forget"}

	SecretSet    = Endpoint[SecretSetParams, SecretInfo]{"secret.set"}
	SecretList   = Endpoint[SecretListParams, List[SecretInfo]]{"secret.list"}
	SecretRemove = Endpoint[SecretParams, SecretInfo]{"secret.rm"}

	ToolList     = Endpoint[ToolListParams, List[Tool]]{"tool.list"}
	ToolDescribe = Endpoint[ToolParams, Tool]{"tool.describe"}
	ToolCall     = Endpoint[ToolCallParams, ToolCalled]{"tool.call"}
	ShowContext  = Endpoint[ContextParams, TurnContext]{"context"}

	RoutineList   = Endpoint[RoutineListParams, List[Routine]]{"routine.list"}
	RoutineAdd    = Endpoint[RoutineAddParams, Routine]{"routine.add"}
	RoutineRemove = Endpoint[RoutineParams, Routine]{"routine.remove"}
	RoutineRun    = Endpoint[RoutineParams, Routine]{"routine.run"}

	ExtPack        = Endpoint[ExtPackParams, ExtPacked]{"ext.pack"}
	ExtPublish     = Endpoint[ExtPublishParams, ExtPublished]{"ext.publish"}
	ExtYank        = Endpoint[ExtYankParams, ExtRelease]{"ext.yank"}
	ExtReleases    = Endpoint[ExtReleasesParams, List[ExtRelease]]{"ext.releases"}
	ExtShow        = StreamEndpoint[ExtShowParams, Progress, ExtCard]{name: "ext.show"}
	ExtPendingList = Endpoint[ExtPendingParams, List[ExtPending]]{"ext.pending"}
	ExtTrust       = StreamEndpoint[ExtTrustParams, Progress, ExtTrusted]{name: "ext.trust"}
	ExtDeny        = Endpoint[ExtDecideParams, ExtAffected]{"ext.deny"}
	ExtUntrust     = Endpoint[ExtDecideParams, ExtAffected]{"ext.untrust"}
	ExtList        = Endpoint[ExtListParams, List[ExtHere]]{"ext.list"}
	ExtExport      = StreamEndpoint[ExtExportParams, Chunk, ExtExported]{name: "ext.export"}
	ExtImport      = StreamEndpoint[ExtImportParams, Progress, ExtImported]{name: "ext.import", uploads: 128 << 20}
	ExtAudit       = Endpoint[ExtAuditParams, List[ExtEvent]]{"ext.audit"}
	ExtGC          = Endpoint[ExtGCParams, ExtCollected]{"ext.gc"}
	ExtLogs        = Endpoint[ExtLogsParams, List[ExtLogLine]]{"ext.logs"}
)

// Names lists every method of the API. A node serves all of them.
func Names() []string {
	return []string{
		GetStatus.name, RunDoctor.name, GetID.name, GetConfig.name, RunCmd.name,
		PeersList.name, PeersPairStart.name, PeersPairWait.name, PeersPairJoin.name, PeersPairConfirm.name,
		PeersPending.name, PeersApprove.name, PeersReject.name, PeersName.name, PeersPause.name, PeersResume.name,
		SessionNew.name, SessionList.name, SessionDetails.name, SessionPost.name, SessionPostFile.name, SessionLog.name,
		SessionSearch.name, SessionWait.name, SessionImport.name, SessionExport.name, SessionShare.name,
		SessionTickets.name, SessionTicketsRevoke.name, SessionJoin.name, SessionAttach.name,
		SessionDetach.name, SessionHost.name, SessionClose.name, SessionForget.name,
		AgentNew.name, AgentList.name, AgentDetails.name, AgentSet.name, AgentShare.name, AgentTickets.name,
		AgentTicketsRevoke.name, AgentJoin.name, AgentInvite.name, AgentForget.name,
		SecretSet.name, SecretList.name, SecretRemove.name,
		ToolList.name, ToolDescribe.name, ToolCall.name, ShowContext.name,
		RoutineList.name, RoutineAdd.name, RoutineRemove.name, RoutineRun.name,
		ExtPack.name, ExtPublish.name, ExtYank.name, ExtReleases.name, ExtShow.name, ExtPendingList.name,
		ExtTrust.name, ExtDeny.name, ExtUntrust.name, ExtList.name, ExtExport.name, ExtImport.name,
		ExtAudit.name, ExtGC.name, ExtLogs.name,
	}
}
